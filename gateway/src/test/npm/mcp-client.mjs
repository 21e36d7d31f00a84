// The official MCP client against a running server. Arguments: the URL, the key, and what to do. Prints one JSON object.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

const [url, key, what, ...more] = process.argv.slice(2);

async function connect(address = url, headers = {}) {
  const client = new Client({ name: 'berth-test', version: '1' });
  const transport = new StreamableHTTPClientTransport(new URL(address), {
    requestInit: { headers: { Authorization: `Bearer ${key}`, ...headers } },
  });
  await client.connect(transport);
  return { client, transport };
}

const call = (client, name, args, options) => client.callTool({ name, arguments: args }, undefined, options);
const bash = (client, command, options) => call(client, 'bash', { command }, options);
const text = (result) => result.content.find((part) => part.type === 'text').text;

async function failure(promise) {
  try {
    await promise;
    return { code: 0 };
  } catch (e) {
    return { code: e.code, message: e.message, data: e.data };
  }
}

const scenarios = {
  async tools() {
    const { client, transport } = await connect();
    const listed = (await client.listTools()).tools;
    await call(client, 'write', { file_path: 'a.txt', content: 'one\ntwo\n' });
    const read = await call(client, 'read', { file_path: 'a.txt' });
    const said = await bash(client, 'echo out; echo err >&2; exit 3');
    const wrong = await call(client, 'read', { file_path: 'not-there' });
    const missing = await call(client, 'read', {});
    const unknown = await failure(call(client, 'no_such_tool', {}));
    const foreign = await failure(call(client, 'bash', { command: 'true', tenant_id: 'rival' }));
    const strange = await failure(call(client, 'bash', { command: 'true', session_id: '../x' }));
    const result = {
      session: transport.sessionId,
      server: client.getServerVersion(),
      tools: Object.fromEntries(listed.map((tool) => [tool.name, tool])),
      read: text(read),
      said: { text: text(said), isError: said.isError, structured: said.structuredContent },
      wrong: { text: text(wrong), isError: wrong.isError },
      missing: { text: text(missing), isError: missing.isError },
      unknown,
      foreign,
      strange,
    };
    await transport.terminateSession();
    await client.close();
    return result;
  },

  // Two clients have two computers; one that names the other's session has the same.
  async sessions() {
    const one = await connect();
    const two = await connect();
    const byQuery = await connect(`${url}?session=named`);
    const byHeader = await connect(url, { 'X-Berth-Session': 'named' });
    await bash(one.client, 'echo of-one > f');
    await bash(byQuery.client, 'echo of-named > f');
    const result = {
      two: text(await bash(two.client, 'cat f 2>/dev/null || echo none')),
      byHeader: text(await bash(byHeader.client, 'cat f')),
      byArgument: text(
        await call(two.client, 'bash', { command: 'cat f', session_id: `mcp:${one.transport.sessionId}` }),
      ),
    };
    for (const { client } of [one, two, byQuery, byHeader]) await client.close();
    return result;
  },

  // The command ends only when the progress that tells of its first line has come.
  async progress() {
    const { client } = await connect();
    const seen = [];
    let told = false;
    const result = await bash(client, 'echo first; while [ ! -e go ]; do sleep 0.05; done; echo last', {
      onprogress: async (progress) => {
        seen.push(progress);
        if (!told && progress.message.includes('first')) {
          told = true;
          await call(client, 'write', { file_path: 'go', content: '' });
        }
      },
    });
    const many = [];
    await bash(client, 'for i in $(seq 2000); do echo line $i; sleep 0.001; done', {
      onprogress: (progress) => many.push(progress),
    });
    await client.close();
    return { seen, text: text(result), many: many.length, last: many.at(-1).message.slice(-10) };
  },

  // What is cancelled dies, with what it started and what left its group; what runs beside it does not notice.
  async cancel() {
    const { client } = await connect();
    const beside = bash(client, 'while [ ! -e go ]; do sleep 0.05; done; echo untouched');
    const stop = new AbortController();
    const cancelled = failure(
      bash(client, 'echo $$ > pid; setsid sleep 1000 & echo $! > pid2; echo started; sleep 1000', {
        signal: stop.signal,
        onprogress: (progress) => progress.message.includes('started') && stop.abort('enough'),
      }),
    );
    const error = await cancelled;
    const dead = await bash(
      client,
      'for p in $(cat pid pid2); do while kill -0 $p 2>/dev/null; do sleep 0.05; done; done; echo dead; touch go',
    );
    const result = { error, dead: text(dead), beside: text(await beside), after: text(await bash(client, 'echo on')) };
    await client.close();
    return result;
  },

  // A command that goes on behind the call is found again by its id, also from another session.
  async background() {
    const { client } = await connect();
    const begun = await call(client, 'bash', { command: 'echo one; sleep 0.2; echo two', background: true, session_id: 'bg' });
    const resultId = begun.structuredContent.resultId;
    let status = '';
    for (let i = 0; i < 200 && !status.includes('completed'); i++) {
      status = text(await call(client, 'async_status', { resultId }));
    }
    const logs = text(await call(client, 'async_status', { resultId, action: 'logs', session_id: 'bg' }));
    await client.close();
    return { begun: { text: text(begun), isError: begun.isError }, status, logs };
  },

  async artifacts() {
    const { client } = await connect();
    const before = (await client.listResources()).resources;
    const made = await bash(
      client,
      "mkdir -p output; printf 'a,b\\n1,2\\n' > output/t.csv; printf '\\x89PNG\\r\\n\\x1a\\n' > output/p.png;" +
        ' head -c 11000000 /dev/zero > output/big.bin',
    );
    const listed = (await client.listResources()).resources;
    const read = {};
    for (const resource of listed) {
      read[resource.name] = (await client.readResource({ uri: resource.uri })).contents[0];
    }
    const result = {
      before: before.length,
      links: made.content.filter((part) => part.type === 'resource_link'),
      listed,
      read,
      templates: (await client.listResourceTemplates()).resourceTemplates,
      unknown: await failure(client.readResource({ uri: listed[0].uri + 'x' })),
      other: await failure(client.readResource({ uri: 'file:///etc/passwd' })),
    };
    await client.close();
    return result;
  },

  async read() {
    const { client } = await connect();
    const result = await failure(client.readResource({ uri: more[0] }));
    await client.close();
    return result;
  },

  // A person, who is somewhere else, hears of it by the progress and decides.
  async approval() {
    const { client } = await connect(`${url}?session=careful`);
    const decide = (decision) => async (progress) => {
      const id = /apr_[0-9a-f]+/.exec(progress.message);
      if (id) {
        await fetch(new URL(`/v1/approvals/${id[0]}`, url), {
          method: 'POST',
          headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
          body: JSON.stringify({ decision }),
        });
      }
    };
    const allowed = await bash(client, 'echo allowed', { onprogress: decide('approve') });
    const denied = await bash(client, 'echo never', { onprogress: decide('deny') });
    const hasty = await connect(`${url}?session=careful`, { Prefer: 'wait=0' });
    const waiting = await bash(hasty.client, 'echo later');
    await client.close();
    await hasty.client.close();
    return {
      allowed: text(allowed),
      denied: { text: text(denied), isError: denied.isError },
      waiting: { text: text(waiting), isError: waiting.isError, structured: waiting.structuredContent },
    };
  },
};

console.log(JSON.stringify(await scenarios[what]()));
