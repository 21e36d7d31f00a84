/**
 * Archives in a bucket of Amazon S3 or of a store that speaks its protocol.
 *
 * <p>A module of its own, so that only those who use it carry the AWS SDK. It sees {@code dev.berth.session} for what
 * archives are, and nothing sees the SDK through it.
 */
@NullMarked
package dev.berth.archive.s3;

import org.jspecify.annotations.NullMarked;
