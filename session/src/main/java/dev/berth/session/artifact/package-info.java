/**
 * Files that runs leave for people to see, kept after the sandbox is gone. {@link dev.berth.session.artifact.Artifacts} is
 * the way in.
 */
@NullMarked
package dev.berth.session.artifact;

import org.jspecify.annotations.NullMarked;
