/**
 * The way to PostgreSQL: connections, migrations, and what its failures mean to everybody above.
 *
 * <p>Tables are nobody's business here; each has a class of its own where it is used.
 */
@NullMarked
package dev.berth.session.store;

import org.jspecify.annotations.NullMarked;
