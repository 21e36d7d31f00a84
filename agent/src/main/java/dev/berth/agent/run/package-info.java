/**
 * Runs: what is said to the agent of a session, and what comes of it, kept in the database so that neither a client nor a
 * server that goes away loses any of it.
 */
@org.jspecify.annotations.NullMarked
package dev.berth.agent.run;
