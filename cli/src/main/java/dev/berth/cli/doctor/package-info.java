/**
 * Examines a machine: what Berth needs or can use of it, what is there, and how to get what is not. Only reads, and sees
 * the machine through {@link dev.berth.cli.doctor.Machine}, so that tests can show it any machine.
 */
@NullMarked
package dev.berth.cli.doctor;

import org.jspecify.annotations.NullMarked;
