/** What Berth is compared with: bare processes, the OCI runtime by itself, bubblewrap, Docker. */
@NullMarked
package dev.berth.bench.rival;

import org.jspecify.annotations.NullMarked;
