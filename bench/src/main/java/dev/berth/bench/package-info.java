/**
 * {@code berth bench}: what Berth promises about speed and size, measured beside what it is compared with, in one run on
 * one machine. It sees the providers it measures, and nothing of Berth sees it but the command line.
 */
@NullMarked
package dev.berth.bench;

import org.jspecify.annotations.NullMarked;
