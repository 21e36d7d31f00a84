/** Shows the whole product at work on one machine, among stand-ins for Slack and for a model. */
@org.jspecify.annotations.NullMarked
package dev.berth.demo;
