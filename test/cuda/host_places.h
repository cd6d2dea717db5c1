// Finds addresses of kernels that were compiled for the host in their texts, by the tools that come with the compiler.
#pragma once

#include <map>
#include <string>

#include "test/cuda/kernel_judge.h"

namespace pt::testing {

// Of a library that is loaded. Looks things up when it is asked, and remembers them.
class HostPlaces {
 public:
  // file: the library. within: an address of it.
  HostPlaces(std::string file, const void* within);

  uintptr_t lowest() const { return lowest_; }
  // Of its text that call; 0: not known.
  unsigned LineAt(uintptr_t caller) const;
  // The variable there and how far from its begin the address is; empty where there is none.
  std::string VariableAt(uintptr_t address) const;

 private:
  struct Variable {
    std::string name;
    uintptr_t begin = 0, bytes = 0;
  };
  void ReadVariables() const;

  const std::string file_;
  const uintptr_t lowest_;
  mutable std::map<uintptr_t, unsigned> lines_;
  mutable std::vector<Variable> variables_;
};

// A kernel of that library.
class HostKernelPlaces : public KernelPlaces {
 public:
  HostKernelPlaces(const HostPlaces& places, const std::string& text) : places_(places), text_(text) {}

  std::string LineAt(uintptr_t caller) const override { return Line(places_.LineAt(caller)); }
  std::string Line(unsigned line) const override;
  std::string SharedAt(uintptr_t address) const override { return places_.VariableAt(address); }

 private:
  const HostPlaces& places_;
  const std::string& text_;
};

}  // namespace pt::testing
