/**
 * The PostgreSQL that comes along, for a server that was given no {@code DATABASE_URL}.
 *
 * <p>It unpacks, makes, runs and stops one cluster in the server's data directory; what is in the database is none of
 * its business. It starts programs and writes below its directory, and touches nothing else of the machine.
 */
@NullMarked
package dev.berth.session.postgres;

import org.jspecify.annotations.NullMarked;
