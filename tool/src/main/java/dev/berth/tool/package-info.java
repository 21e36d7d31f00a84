/**
 * What a model calls: bash, read, write, edit, glob, grep, execute.
 *
 * <p>Each is an operation with typed input and result, on the sandbox of a session that the caller has brought up. How a
 * request arrives and how a result is written is not this package's business, so the same operations serve every surface.
 */
@NullMarked
package dev.berth.tool;

import org.jspecify.annotations.NullMarked;
