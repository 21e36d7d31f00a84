#pragma once

#include "link.h"

/* What the server's frames make the guest do. */
extern const struct link_listener serve;
