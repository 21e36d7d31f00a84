package dev.berth.egress.http;

import org.eclipse.jetty.client.Response;
import org.eclipse.jetty.io.Content;
import org.eclipse.jetty.io.EndPoint;

/** What a server outside has answered, as far as its head says. */
sealed interface Answer {
    Response response();

    /** What follows is its body. */
    record Plain(Response response, Content.Source body) implements Answer {}

    /** What follows is no HTTP. */
    record Switched(Response response, EndPoint endPoint) implements Answer {}
}
