/**
 * Commands that go on in the background of a session: started, followed, stopped, settled exactly once, whatever dies
 * meanwhile.
 */
@NullMarked
package dev.berth.session.job;

import org.jspecify.annotations.NullMarked;
