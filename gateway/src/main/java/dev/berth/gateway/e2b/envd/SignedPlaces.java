package dev.berth.gateway.e2b.envd;

import dev.berth.gateway.e2b.Call;
import dev.berth.gateway.e2b.E2bError;
import dev.berth.gateway.e2b.Sandboxes;
import dev.berth.gateway.e2b.Tokens;
import dev.berth.session.SessionInfo;
import dev.berth.session.SessionKey;
import dev.berth.session.SessionQuery;
import dev.berth.session.Sessions;
import java.security.MessageDigest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Predicate;

/**
 * Finds the sandbox that a signed address is for, which on a host that all share does not say so: the one whose token it was
 * signed with.
 *
 * <p>Anybody can ask for this, so what it costs is bounded. What can be seen from the signature itself is looked at first.
 * Then come the sandboxes that were used here, and only then are all that run listed, at most once a second for all who
 * wait for it. Tokens are kept. The part of the hash before the token is made once, so that a look at one sandbox is
 * a hash of two blocks however long the path is: a hundred thousand take some tens of milliseconds. Only some look at a time,
 * and the others wait a little. Those who wait for a list look at nothing meanwhile, and are told to come back where there
 * are many.
 */
final class SignedPlaces {
    private static final int MOST = 100_000;
    private static final int PAGE = 1000;
    private static final int AT_A_TIME = 16;
    private static final int MOST_WAITING = 64;
    private static final Duration PATIENCE = Duration.ofSeconds(5);
    private static final Duration BETWEEN_LISTINGS = Duration.ofSeconds(1);
    private static final String FORM = "v1_[A-Za-z0-9+/]{43}";

    private final Sessions sessions;
    private final Tokens tokens;
    private final Semaphore looking = new Semaphore(AT_A_TIME);
    private final Semaphore waiting = new Semaphore(MOST_WAITING);
    /** The tokens of those that were used here or listed; of some that are gone, too, where nobody is let in. */
    private final Map<SessionKey, String> made = new ConcurrentHashMap<>();

    private final ReentrantLock listing = new ReentrantLock();
    /** Guarded by listing, as the next. */
    private List<SessionKey> listed = List.of();

    private long listedAt = System.nanoTime() - BETWEEN_LISTINGS.toNanos();

    SignedPlaces(Sessions sessions, Tokens tokens) {
        this.sessions = sessions;
        this.tokens = tokens;
    }

    /** Is told of every sandbox that is used, so that its addresses are found without a list. */
    void used(SessionKey key) {
        var _ = token(key);
    }

    /** @throws E2bError 401 if it is nobody's */
    SessionKey find(Call call, Gate gate, Signature.Operation operation) {
        Optional<String> token = Gate.token(call);
        if (token.isPresent()) {
            return find(candidate -> Tokens.same(candidate, token.get()))
                    .orElseThrow(() -> new E2bError(401, "access token present in header but does not match"));
        }
        Signature signature =
                Signature.of(call, operation).orElseThrow(() -> new E2bError(401, "missing signature query parameter"));
        gate.checkExpiry(signature);
        if (!signature.value().matches(FORM)) {
            throw new E2bError(401, "invalid signature");
        }
        MessageDigest begun = signature.begin();
        return find(candidate -> signature.madeWith(begun, candidate))
                .orElseThrow(() -> new E2bError(401, "invalid signature"));
    }

    /** Of those that are known the answer is there at once, however many ask for what nobody has. */
    private Optional<SessionKey> find(Predicate<String> fits) {
        try {
            Optional<SessionKey> known = look(made.keySet(), fits);
            return known.isPresent() ? known : look(awaitList(), fits);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new E2bError(503, "the server stops");
        }
    }

    private Optional<SessionKey> look(Iterable<SessionKey> keys, Predicate<String> fits) throws InterruptedException {
        if (!looking.tryAcquire(PATIENCE.toMillis(), TimeUnit.MILLISECONDS)) {
            throw crowded();
        }
        try {
            return find(keys, fits);
        } finally {
            looking.release();
        }
    }

    private List<SessionKey> awaitList() throws InterruptedException {
        if (!waiting.tryAcquire()) {
            throw crowded();
        }
        try {
            return list(System.nanoTime());
        } finally {
            waiting.release();
        }
    }

    private static E2bError crowded() {
        return new E2bError(429, "too many addresses without a sandbox are asked for; try again");
    }

    private Optional<SessionKey> find(Iterable<SessionKey> keys, Predicate<String> fits) {
        for (SessionKey key : keys) {
            if (fits.test(token(key))) {
                return Optional.of(key);
            }
        }
        return Optional.empty();
    }

    private String token(SessionKey key) {
        String known = made.get(key);
        if (known != null) {
            return known;
        }
        if (made.size() > 2 * MOST) {
            made.clear();
        }
        return made.computeIfAbsent(key, tokens::envd);
    }

    /** The sandboxes that run, not as they were before that moment; the newest if there are too many. */
    private List<SessionKey> list(long since) throws InterruptedException {
        listing.lockInterruptibly();
        try {
            if (listedAt - since > 0) {
                return listed;
            }
            TimeUnit.NANOSECONDS.sleep(BETWEEN_LISTINGS.toNanos() - (System.nanoTime() - listedAt));
            listedAt = System.nanoTime();
            listed = running();
            return listed;
        } finally {
            listing.unlock();
        }
    }

    private List<SessionKey> running() {
        List<SessionKey> found = new ArrayList<>();
        SessionQuery query = new SessionQuery(
                Optional.empty(),
                Optional.of(Sandboxes.CHANNEL),
                Sandboxes.RUNNING,
                Map.of(),
                Optional.empty(),
                Optional.empty(),
                SessionQuery.Order.NEWEST_FIRST,
                Optional.empty(),
                PAGE);
        while (true) {
            List<SessionInfo> page = sessions.list(query);
            page.forEach(info -> found.add(info.key()));
            if (page.size() < PAGE || found.size() >= MOST) {
                return List.copyOf(found);
            }
            query = query.withAfter(SessionQuery.Cursor.of(page.getLast()));
        }
    }
}
