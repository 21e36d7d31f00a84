/** HTTP on the way out: each request is looked at, given its secrets, and carried on. */
@NullMarked
package dev.berth.egress.http;

import org.jspecify.annotations.NullMarked;
