/**
 * The settings of the server: one table ({@link dev.berth.cli.config.Settings}), read from flags, environment and a YAML
 * file, from which help and the page in docs are made too. It knows what can be set, and starts nothing.
 */
@NullMarked
package dev.berth.cli.config;

import org.jspecify.annotations.NullMarked;
