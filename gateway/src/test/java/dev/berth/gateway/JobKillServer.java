package dev.berth.gateway;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.berth.gateway.http.ServerConfig;
import dev.berth.gateway.webhook.WebhooksConfig;
import dev.berth.sandbox.Command;
import dev.berth.sandbox.RunningCommand;
import dev.berth.sandbox.Sandbox;
import dev.berth.sandbox.SandboxProvider;
import dev.berth.sandbox.local.LocalConfig;
import dev.berth.sandbox.local.LocalProvider;
import dev.berth.sandbox.local.TestMachine;
import dev.berth.session.DirectoryArchives;
import dev.berth.session.IdlePolicy;
import dev.berth.session.SessionSpec;
import dev.berth.session.Sessions;
import dev.berth.session.SessionsConfig;
import dev.berth.session.store.Database;
import dev.berth.session.store.DatabaseConfig;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;

/**
 * A server to be killed in the middle of a job. It says {@code READY <port>}, and {@code AT <moment>} when it has come to
 * the moment it was told of; there it waits for its end.
 */
final class JobKillServer {
    /** Where to wait. */
    enum Moment {
        NEVER,
        BEFORE_LAUNCH,
        AFTER_LAUNCH,
        BEFORE_SETTLEMENT,
        AFTER_SETTLEMENT
    }

    private final Moment moment;

    private JobKillServer(Moment moment) {
        this.moment = moment;
    }

    static LocalConfig config(Path data) {
        return LocalConfig.of(data).withTemplates(TestMachine.templates());
    }

    @SuppressWarnings("SystemOut") // its only way to talk to the test
    public static void main(String[] args) throws InterruptedException {
        Path data = Path.of(args[0]);
        SandboxProvider provider = new JobKillServer(Moment.valueOf(args[2])).around(LocalProvider.open(config(data)));
        Database database = Database.open(DatabaseConfig.parse(args[1]));
        PrometheusMeterRegistry meters = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
        Sessions sessions = Sessions.open(
                SessionsConfig.of(data.resolve("spool"))
                        .withSpec(SessionSpec.DEFAULT.withTemplate("host").withIdle(IdlePolicy.NEVER)),
                provider,
                database,
                DirectoryArchives.open(data.resolve("archives")),
                meters,
                "secret".getBytes(UTF_8),
                _ -> Optional.empty());
        Gateway gateway = Gateway.start(
                GatewayConfig.of(ServerConfig.onLoopback(0), data, TestingBerth.ADMIN, new byte[32])
                        .withWebhooks(WebhooksConfig.DEFAULT.withPrivateAddresses(true)),
                sessions,
                provider,
                database,
                meters);
        System.out.println("READY " + gateway.port());
        new CountDownLatch(1).await();
    }

    private SandboxProvider around(SandboxProvider real) {
        return proxy(SandboxProvider.class, (method, arguments) -> {
            Object result = invoke(real, method, arguments);
            return method.getReturnType() == void.class ? result : wrapped(result);
        });
    }

    private Object wrapped(Object result) {
        return switch (result) {
            case Sandbox sandbox -> around(sandbox);
            case Optional<?> optional -> optional.map(this::wrapped);
            case List<?> list -> list.stream().map(this::wrapped).toList();
            default -> result;
        };
    }

    private Sandbox around(Sandbox real) {
        return proxy(Sandbox.class, (method, arguments) -> {
            boolean job = arguments != null
                    && arguments[0] instanceof Command command
                    && command.tag().startsWith("job:");
            if (job) {
                at(Moment.BEFORE_LAUNCH);
            }
            Object result = invoke(real, method, arguments);
            if (job) {
                at(Moment.AFTER_LAUNCH);
            }
            return result instanceof RunningCommand command && job ? around(command) : result;
        });
    }

    private RunningCommand around(RunningCommand real) {
        return proxy(RunningCommand.class, (method, arguments) -> {
            if (method.getName().equals("await")) {
                Object exit = invoke(real, method, arguments);
                at(Moment.BEFORE_SETTLEMENT);
                return exit;
            }
            if (method.getName().equals("close")) {
                at(Moment.AFTER_SETTLEMENT);
            }
            return invoke(real, method, arguments);
        });
    }

    @SuppressWarnings("SystemOut")
    private void at(Moment here) throws InterruptedException {
        if (here == moment) {
            System.out.println("AT " + here);
            new CountDownLatch(1).await();
        }
    }

    private interface Handler {
        Object handle(Method method, Object[] arguments) throws Throwable;
    }

    private static <T> T proxy(Class<T> type, Handler handler) {
        return type.cast(Proxy.newProxyInstance(
                type.getClassLoader(),
                new Class<?>[] {type},
                (_, method, arguments) -> handler.handle(method, arguments)));
    }

    private static Object invoke(Object real, Method method, Object[] arguments) throws Throwable {
        try {
            return method.invoke(real, arguments);
        } catch (InvocationTargetException e) {
            throw e.getCause();
        }
    }
}
