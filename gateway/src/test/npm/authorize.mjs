// Loaded before the conformance suite, which has no option for it: adds the key to every request that it sends.
import { Agent, setGlobalDispatcher } from 'undici';

const key = process.env.BERTH_KEY;

setGlobalDispatcher(
  new Agent().compose((dispatch) => (options, handler) => {
    const given = options.headers ?? {};
    const headers = Array.isArray(given)
      ? [...given, 'authorization', `Bearer ${key}`]
      : { ...(given[Symbol.iterator] ? Object.fromEntries(given) : given), authorization: `Bearer ${key}` };
    return dispatch({ ...options, headers }, handler);
  }),
);
