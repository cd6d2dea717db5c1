// What rewrites of operators have in common whose matrices hold elements of 2, 4 or 8 bits, packed into bytes.
#pragma once

#include "lib/onnx/contrib/rewrite.h"

namespace pt::contrib {

// How elements of 2, 4 or 8 bits are held: packed as they are where they are constants, else one a byte, unpacked in
// the run.
struct Packing {
  int64_t bits = 0;
  DataType type = DataType::kUndefined;          // of an element: of `bits`, or kUint8
  int64_t per_byte() const { return 8 / bits; }  // elements that the operator's inputs have there
};

// How the elements of those inputs are held, all alike. Errors: other than 2, 4 and 8 bits.
Result<Packing> PackingOf(Rewrite& r, int64_t bits, std::initializer_list<int> inputs);

// Errors: block_size is not a power of two, or below 16.
Status CheckBlock(int64_t block);

// Bytes [n, 1] cut into elements of `bits`, one a byte, [n, places]: of each byte those that begin at these places.
std::string ElementsOfBytes(Rewrite& r, const std::string& column, int64_t bits, const std::vector<int64_t>& places);

// An input's bytes as elements, with other dims. Errors: it is not of uint8, or a constant of another size.
Result<std::string> Reinterpret(Rewrite& r, int input, const std::string& what, const Packing& packing,
                                std::vector<int64_t> dims);

// Zero points in the middle of what the elements can be.
Result<std::string> MiddleZeroPoints(Rewrite& r, const Packing& packing, std::vector<int64_t> dims);

}  // namespace pt::contrib
