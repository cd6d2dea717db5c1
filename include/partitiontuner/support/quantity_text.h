// Times, sizes and shares as people read them. No locale.
#pragma once

#include <cstdint>
#include <string>

namespace pt {

// "1.92 ms", "118 us", "3m24s".
std::string ShortTime(int64_t ns);
std::string ShortBytes(uint64_t bytes);             // "212 MiB"
std::string Fixed(double value, int digits);        // locale-free %.{digits}f
std::string Percent(double share, int digits = 1);  // "-13.0 %"
std::string Brief(double value);                    // "3.1e-06", "0.25": %.2g

}  // namespace pt
