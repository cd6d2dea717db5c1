// Plugins: a backend in a shared object of its own, found in a folder when a machine is made. docs/add-a-library.md
// walks through one.
//
// The object exports one C function, made by PT_PLUGIN. What it returns starts with plain C data, which is checked
// first: the layout's number, and a tag that says what the plugin was built with. Classes of the standard library and
// of these headers cross the border, so both sides need the same compiler, standard library and headers; a plugin with
// another tag is refused before any of them is touched.
//
// A plugin's functions run inside the process that loads it. Exceptions that leave its rows, its libraries or, in a
// session, Kernel::Bind become errors (kInternal). Drivers, streams, events and bound kernels run on the executor's
// threads and must not throw. The machine keeps the object loaded until everything that came from it is gone.
#pragma once

#include <cstdint>

#include "partitiontuner/backend/backends.h"
#include "partitiontuner/version.h"

namespace pt {

// The version of PluginEntry's layout.
inline constexpr uint32_t kPluginAbi = 1;

// What pt_plugin_v1 returns. Lives as long as the shared object.
struct PluginEntry {
  uint32_t abi = 0;                 // kPluginAbi
  uint32_t bytes = 0;               // sizeof(PluginEntry)
  const char* build_tag = nullptr;  // PT_PLUGIN_BUILD_TAG
  const char* name = nullptr;       // "softsign": how people name it
  // Called once for each machine, after all of the above was found to fit.
  Backend (*make_backend)() = nullptr;
};

inline constexpr const char* kPluginEntryName = "pt_plugin_v1";
using PluginEntryFunction = const PluginEntry* (*)();

}  // namespace pt

// The text of a macro's value.
#define PT_PLUGIN_QUOTE(text) #text
#define PT_PLUGIN_TEXT(macro) PT_PLUGIN_QUOTE(macro)

#if defined(_LIBCPP_VERSION)
#define PT_PLUGIN_STANDARD_LIBRARY "libc++ " PT_PLUGIN_TEXT(_LIBCPP_VERSION)
#elif defined(_GLIBCXX_DEBUG)
#define PT_PLUGIN_STANDARD_LIBRARY "libstdc++ " PT_PLUGIN_TEXT(__GLIBCXX__) " debug"
#else
#define PT_PLUGIN_STANDARD_LIBRARY \
  "libstdc++ " PT_PLUGIN_TEXT(__GLIBCXX__) " abi " PT_PLUGIN_TEXT(_GLIBCXX_USE_CXX11_ABI)
#endif

#if defined(__clang__)
#define PT_PLUGIN_COMPILER __VERSION__
#else
#define PT_PLUGIN_COMPILER "GCC " __VERSION__
#endif

// What must be the same on both sides.
#define PT_PLUGIN_BUILD_TAG                                                                            \
  "partitiontuner " PARTITIONTUNER_VERSION ", headers " PARTITIONTUNER_HEADERS ", " PT_PLUGIN_COMPILER \
  ", " PT_PLUGIN_STANDARD_LIBRARY

// PT_PLUGIN("softsign", MakeBackend): once in a plugin, outside all namespaces. MakeBackend takes nothing and returns a
// pt::Backend.
#define PT_PLUGIN(plugin_name, make)                                                                              \
  extern "C" __attribute__((visibility("default"))) const pt::PluginEntry* pt_plugin_v1() {                       \
    static const pt::PluginEntry entry{pt::kPluginAbi, sizeof(pt::PluginEntry), PT_PLUGIN_BUILD_TAG, plugin_name, \
                                       make};                                                                     \
    return &entry;                                                                                                \
  }
