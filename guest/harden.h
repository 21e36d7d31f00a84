#pragma once

#include <stdbool.h>

/*
 * Makes the guest safe to be among strangers, and the strangers harmless: nobody may look into it, everything in the sandbox is under the filter,
 * and capabilities that nothing in a sandbox needs are gone for good. Exits with 70 and a sentence when that cannot be done.
 */
void harden(bool with_seccomp);

/* seccomp.c: 0, or errno. */
int seccomp_install(void);

__attribute__((noreturn)) void die(int code, const char *what, int error);
