// Makes a failing graph small: outputs and nodes go, dims and attributes become plain, as long as it still fails.
#pragma once

#include <functional>
#include <string>

namespace pt::testing {

// fails: of a text of a graph, which may be no right graph at all (then it does not fail). Asked at most `tries` times.
std::string Shrink(const std::string& text, const std::function<bool(const std::string&)>& fails, size_t tries = 1500);

}  // namespace pt::testing
