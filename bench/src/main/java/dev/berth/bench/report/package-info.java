/** What a run found: numbers, what they have to be, and how they are shown. Knows nothing of how they came about. */
@NullMarked
package dev.berth.bench.report;

import org.jspecify.annotations.NullMarked;
