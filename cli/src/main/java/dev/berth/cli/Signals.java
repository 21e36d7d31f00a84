package dev.berth.cli;

import java.lang.reflect.Proxy;
import java.util.Objects;
import java.util.function.IntConsumer;

/**
 * Hears of signals to this process, by {@code sun.misc.Signal}: the JDK exports it because the platform has nothing in
 * its place. It is called by reflection since javac warns of every use of it by name, and our warnings are errors.
 */
final class Signals {
    private Signals() {}

    /**
     * Calls the handler, on a thread of its own, with the signal's number each time it arrives. A signal that whoever
     * started us wanted ignored, as nohup(1) and shells do for what they start in the background, stays ignored.
     */
    static void on(String name, IntConsumer handler) {
        try {
            Class<?> signals = Class.forName("sun.misc.Signal");
            Class<?> handlers = Class.forName("sun.misc.SignalHandler");
            Object signal = signals.getConstructor(String.class).newInstance(name);
            int number = (int) signals.getMethod("getNumber").invoke(signal);
            Object ours = Proxy.newProxyInstance(
                    handlers.getClassLoader(), new Class<?>[] {handlers}, (proxy, method, arguments) -> {
                        handler.accept(number); // the JDK calls no other method of it
                        return null;
                    });
            Object ignore = handlers.getField("SIG_IGN").get(null);
            var handle = signals.getMethod("handle", signals, handlers);
            Object before = handle.invoke(null, signal, ours);
            if (Objects.equals(before, ignore)) {
                handle.invoke(null, signal, ignore);
            }
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException("this JDK has no sun.misc.Signal", e);
        }
    }
}
