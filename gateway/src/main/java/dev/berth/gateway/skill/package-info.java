/**
 * Skills: bundles of text files, with a page that tells a model what they are for, kept for each tenant and put into a
 * workspace when a model asks for one.
 */
@NullMarked
package dev.berth.gateway.skill;

import org.jspecify.annotations.NullMarked;
