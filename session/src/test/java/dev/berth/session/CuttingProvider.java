package dev.berth.session;

import dev.berth.sandbox.Sandbox;
import dev.berth.sandbox.SandboxProvider;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicBoolean;

/** A real provider, and something that happens after or before what it does. */
final class CuttingProvider {
    private CuttingProvider() {}

    /** @param afterPause happens right after the first time it paused a sandbox */
    static SandboxProvider around(SandboxProvider real, Runnable afterPause) {
        AtomicBoolean happened = new AtomicBoolean();
        return proxy(SandboxProvider.class, real, (method, result) -> {
            if (method.equals("find") && result instanceof Optional<?> found && found.isPresent()) {
                Sandbox sandbox = (Sandbox) found.get();
                return Optional.of(proxy(Sandbox.class, sandbox, (called, value) -> {
                    if (called.equals("pause") && happened.compareAndSet(false, true)) {
                        afterPause.run();
                    }
                    return value;
                }));
            }
            return result;
        });
    }

    /** @param action happens before each call of a method, and in its place if it throws */
    static SandboxProvider before(SandboxProvider real, String method, Runnable action) {
        return before(SandboxProvider.class, real, method, action);
    }

    static <T> T before(Class<T> type, T real, String method, Runnable action) {
        InvocationHandler handler = (_, called, arguments) -> {
            if (called.getName().equals(method)) {
                action.run();
            }
            try {
                return called.invoke(real, arguments);
            } catch (InvocationTargetException e) {
                throw e.getCause();
            }
        };
        return proxy(type, handler);
    }

    private interface After {
        Object call(String method, Object result);
    }

    private static <T> T proxy(Class<T> type, T real, After after) {
        InvocationHandler handler = (_, method, arguments) -> {
            try {
                return after.call(method.getName(), method.invoke(real, arguments));
            } catch (InvocationTargetException e) {
                throw e.getCause();
            }
        };
        return proxy(type, handler);
    }

    private static <T> T proxy(Class<T> type, InvocationHandler handler) {
        return type.cast(Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, handler));
    }
}
