#pragma once

#include <stdio.h>

/* Just enough of a test runner: CHECK counts, TALLY prints the line that tally.sh adds up. */
static int passed, failed;

#define CHECK(condition)                                                                    \
	do {                                                                                \
		if (condition) {                                                            \
			passed++;                                                           \
		} else {                                                                    \
			failed++;                                                           \
			printf("%s:%d: %s does not hold\n", __FILE__, __LINE__, #condition); \
		}                                                                           \
	} while (0)

#define TALLY() (printf("%d passed, %d failed\n", passed, failed), failed > 0)
