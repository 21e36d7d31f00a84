/** What the operations of the contract do. A class for each part of the API; none of them knows HTTP. */
@NullMarked
package dev.berth.gateway.api;

import org.jspecify.annotations.NullMarked;
