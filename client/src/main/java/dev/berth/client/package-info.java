/**
 * The API of a Berth server for Java programs. Needs nothing but the JDK.
 *
 * {@snippet :
 * try (BerthClient berth = BerthClient.connect("http://127.0.0.1:8080", System.getenv("BERTH_API_KEY"))) {
 *     SessionClient session = berth.session("slack:C123:1712.0001");
 *     session.write("numbers.txt", "1\n2\n39\n");
 *     RunResult result = session.bash("paste -sd+ numbers.txt | bc");
 *     System.out.println(result.stdout()); // 42
 *     try (EventStream events = session.events(0)) {
 *         for (SessionEvent event : events) { // goes on after a lost connection, without a gap
 *             System.out.println(event.seq() + " " + event.type());
 *         }
 *     }
 * }
 * }
 *
 * <p>Calls block and are meant for virtual threads. What fails is a {@link dev.berth.client.BerthException}, whose code is
 * one of a closed set. Every result has all that the server said as {@code json()}, also what this version does not know.
 */
@NullMarked
package dev.berth.client;

import org.jspecify.annotations.NullMarked;
