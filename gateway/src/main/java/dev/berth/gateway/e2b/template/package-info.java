/**
 * Templates as E2B's clients know them: who has which, under which names, how they are built and what a build tells. What a
 * template is made of and how is the provider's.
 */
@NullMarked
package dev.berth.gateway.e2b.template;

import org.jspecify.annotations.NullMarked;
