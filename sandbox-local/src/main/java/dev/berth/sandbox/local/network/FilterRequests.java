package dev.berth.sandbox.local.network;

import dev.berth.sandbox.local.netlink.Attributes;
import dev.berth.sandbox.local.netlink.Message;
import dev.berth.sandbox.local.netlink.Netlink;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;

/**
 * Elements of sets and counters of one table, as nf_tables is told and tells of them. Numbers are those of
 * linux/netfilter/nf_tables.h. A {@link #batch} is done as a whole or not at all.
 */
final class FilterRequests {
    private static final int SUBSYSTEM = 10;
    private static final int BATCH_BEGIN = 16;
    private static final int BATCH_END = 17;
    private static final int NEWSETELEM = SUBSYSTEM << 8 | 12;
    private static final int GETSETELEM = SUBSYSTEM << 8 | 13;
    private static final int DELSETELEM = SUBSYSTEM << 8 | 14;
    private static final int NEWOBJ = SUBSYSTEM << 8 | 18;
    private static final int GETOBJ = SUBSYSTEM << 8 | 19;
    private static final int DELOBJ = SUBSYSTEM << 8 | 20;

    private static final int NFGENMSG = 4;
    private static final int INET = 1;

    private static final int LIST_TABLE = 1;
    private static final int LIST_SET = 2;
    private static final int LIST_ELEMENTS = 3;
    private static final int LIST_ELEM = 1;
    private static final int ELEM_KEY = 1;
    private static final int ELEM_DATA = 2;
    private static final int ELEM_OBJREF = 9;
    private static final int DATA_VALUE = 1;
    private static final int DATA_VERDICT = 2;
    private static final int VERDICT_CODE = 1;
    private static final int VERDICT_CHAIN = 2;
    private static final int GOTO = -4;

    private static final int OBJ_TABLE = 1;
    private static final int OBJ_NAME = 2;
    private static final int OBJ_TYPE = 3;
    private static final int OBJ_DATA = 4;
    private static final int COUNTER = 1;
    private static final int COUNTER_BYTES = 1;
    private static final int COUNTER_PACKETS = 2;

    private final String table;

    FilterRequests(String table) {
        this.table = table;
    }

    /**
     * An element of a set or map.
     *
     * @param to the chain or the object that it leads to, empty in a set
     */
    record Element(byte[] key, String to) {}

    /** What was counted. */
    record Counter(String name, long bytes) {}

    // ---- changes -------------------------------------------------------------------------------------------------

    static List<Message> batch(List<Message> requests) {
        List<Message> all = new ArrayList<>();
        all.add(Message.of(BATCH_BEGIN, 0, general(0, SUBSYSTEM)));
        all.addAll(requests);
        all.add(Message.of(BATCH_END, 0, general(0, SUBSYSTEM)));
        return all;
    }

    Message add(String set, byte[] key) {
        return element(NEWSETELEM, set, elem -> key(elem, key));
    }

    Message addGoto(String map, byte[] key, String chain) {
        return element(
                NEWSETELEM,
                map,
                elem -> key(elem, key)
                        .with(
                                ELEM_DATA,
                                data -> data.with(
                                        DATA_VERDICT,
                                        verdict -> verdict.withNetworkOrder(VERDICT_CODE, GOTO)
                                                .with(VERDICT_CHAIN, chain))));
    }

    Message addObject(String map, byte[] key, String object) {
        return element(NEWSETELEM, map, elem -> key(elem, key).with(ELEM_OBJREF, object));
    }

    Message remove(String set, byte[] key) {
        return element(DELSETELEM, set, elem -> key(elem, key));
    }

    private Message element(int type, String set, Consumer<Message> content) {
        int flags = type == NEWSETELEM ? Message.ACK | Message.CREATE : Message.ACK;
        return Message.of(type, flags, general(INET, 0))
                .with(LIST_TABLE, table)
                .with(LIST_SET, set)
                .with(LIST_ELEMENTS, list -> list.with(LIST_ELEM, content));
    }

    private static Message key(Message elem, byte[] key) {
        return elem.with(ELEM_KEY, data -> data.with(DATA_VALUE, key));
    }

    Message addCounter(String name, long bytes) {
        return object(NEWOBJ, Message.ACK | Message.CREATE, name)
                .with(
                        OBJ_DATA,
                        data -> data.withNetworkOrder(COUNTER_BYTES, bytes).withNetworkOrder(COUNTER_PACKETS, 0L));
    }

    Message removeCounter(String name) {
        return object(DELOBJ, Message.ACK, name);
    }

    private Message object(int type, int flags, String name) {
        return Message.of(type, flags, general(INET, 0))
                .with(OBJ_TABLE, table)
                .with(OBJ_NAME, name)
                .withNetworkOrder(OBJ_TYPE, COUNTER);
    }

    // ---- what there is -------------------------------------------------------------------------------------------

    /** @throws dev.berth.sandbox.local.linux.ErrnoException ENOENT if there is no such set */
    List<Element> elements(Netlink kernel, String set) throws IOException {
        Message request = Message.of(GETSETELEM, Message.DUMP, general(INET, 0))
                .with(LIST_TABLE, table)
                .with(LIST_SET, set);
        List<Element> elements = new ArrayList<>();
        for (Attributes part : kernel.list(request, NFGENMSG)) {
            for (Attributes elem : part.nested(LIST_ELEMENTS).each(LIST_ELEM)) {
                String chain = elem.nested(ELEM_DATA)
                        .nested(DATA_VERDICT)
                        .text(VERDICT_CHAIN)
                        .orElse("");
                elements.add(new Element(
                        elem.nested(ELEM_KEY).bytes(DATA_VALUE).orElseThrow(),
                        elem.text(ELEM_OBJREF).orElse(chain)));
            }
        }
        return elements;
    }

    /** None if there is no such table. */
    List<Counter> counters(Netlink kernel) throws IOException {
        Message request = Message.of(GETOBJ, Message.DUMP, general(INET, 0))
                .with(OBJ_TABLE, table)
                .withNetworkOrder(OBJ_TYPE, COUNTER);
        return kernel.list(request, NFGENMSG).stream()
                .map(object -> new Counter(
                        object.text(OBJ_NAME).orElse(""),
                        object.nested(OBJ_DATA).networkOrder(COUNTER_BYTES).orElse(0L)))
                .toList();
    }

    private static byte[] general(int family, int resource) {
        return new byte[] {(byte) family, 0, (byte) (resource >> 8), (byte) resource};
    }
}
