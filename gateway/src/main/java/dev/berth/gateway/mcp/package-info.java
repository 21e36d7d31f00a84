/** The tools by the Model Context Protocol. The SDK has the protocol; how it comes by HTTP, and who may, is decided here. */
@NullMarked
package dev.berth.gateway.mcp;

import org.jspecify.annotations.NullMarked;
