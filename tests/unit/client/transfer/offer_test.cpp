#include "client/transfer/offer.h"

#include "tests/support/catch.h"

using namespace lambda;
using namespace lambda::client;

TEST_CASE("lanes share the memory that the rings may have, and hear how much more is of use") {
    config::ClientSettings settings;
    settings.memory = 256 * MiB;
    CHECK(make_terms(settings, 1).memory == 176 * MiB);
    CHECK(ring_room(settings, 1).beyond == 0);
    CHECK(make_terms(settings, 2).memory == 88 * MiB);
    CHECK(ring_room(settings, 2).wanted == 88 * MiB);
    CHECK(ring_room(settings, 2).beyond == 256 * MiB);
    CHECK(make_terms(settings, 11).memory == 16 * MiB);
    CHECK(least_memory(11) == 256 * MiB);
    settings.memory = 1 * GiB;
    CHECK(make_terms(settings, 2).memory == 176 * MiB);
    CHECK(ring_room(settings, 2).beyond == 0);
    for (const std::uint16_t lanes : {std::uint16_t{1}, std::uint16_t{16}}) {
        settings.memory = least_memory(lanes);
        CHECK(least_memory(0) + lanes * make_terms(settings, lanes).memory == settings.memory);
    }
}
