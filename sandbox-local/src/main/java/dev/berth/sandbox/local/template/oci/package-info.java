/** Images of OCI registries, as far as a template needs them: their layers and their variables. */
@NullMarked
package dev.berth.sandbox.local.template.oci;

import org.jspecify.annotations.NullMarked;
