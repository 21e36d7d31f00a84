@NullMarked
package dev.berth.sandbox.local.network;

import org.jspecify.annotations.NullMarked;
