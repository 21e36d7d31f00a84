package dev.berth.gateway.http;

/** Answers the requests of one operation of the contract. */
public interface Endpoint {
    Answer answer(Exchange exchange) throws Exception;
}
