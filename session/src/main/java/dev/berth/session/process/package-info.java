/**
 * Processes of a session that many may follow, talk to and signal, one after the other or at the same time. They belong to
 * the sandbox: who follows may go away, and so may the server.
 */
@NullMarked
package dev.berth.session.process;

import org.jspecify.annotations.NullMarked;
