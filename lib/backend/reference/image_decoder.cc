// ImageDecoder: files that hold an image's bytes as they are, BMP and PNM. The file's header is read when the routine
// is made, from the input's content; a file that lacks bytes is refused, where ONNX has an empty image.
#include "lib/backend/reference/image_decoder.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "lib/backend/host/parallel.h"
#include "partitiontuner/graph/operators/images.h"
#include "partitiontuner/graph/operators/or_refuse.h"
#include "partitiontuner/support/checked.h"

namespace pt::reference {
namespace {

// Where the pixels of a file lie, and in which order their channels come.
struct Pixels {
  int64_t width = 0, height = 0;
  int64_t first = 0;          // byte of the top left pixel
  int64_t row = 0;            // bytes from a row to the one below it
  int64_t pixel = 3;          // bytes from a pixel to the next
  int64_t red = 0, blue = 2;  // bytes within a pixel; green is 1
  bool grey = false;          // one byte a pixel
};

using Bytes = std::span<const uint8_t>;

Error Truncated(const ReferenceSite& site) { return site.Invalid("the file ends before its pixels do"); }

// Sizes that a header names: positive, and small enough for sums of their products.
bool IsSize(int64_t size) { return size > 0 && size < (int64_t{1} << 24); }

template <typename T>
T Little(Bytes file, size_t at) {
  T number{};
  for (size_t i = 0; i < sizeof(T); ++i) number = static_cast<T>(number | static_cast<T>(T{file[at + i]} << (8 * i)));
  return number;
}

// The header of Windows 3 or a later one that begins with it.
Result<Pixels> ReadBmp(const ReferenceSite& site, Bytes file) {
  constexpr size_t kHeaders = 54;
  if (file.size() < kHeaders) return Truncated(site);
  const auto header = Little<uint32_t>(file, 14), compression = Little<uint32_t>(file, 30);
  const auto bits = Little<uint16_t>(file, 28);
  if (header < 40 || compression != 0 || (bits != 24 && bits != 32)) {
    return site.Unsupported("is not supported for BMP files but those of 24 and 32 bits without compression");
  }
  const auto height = static_cast<int64_t>(static_cast<int32_t>(Little<uint32_t>(file, 22)));
  Pixels p;
  p.width = static_cast<int32_t>(Little<uint32_t>(file, 18));
  p.height = std::abs(height);
  if (!IsSize(p.width) || !IsSize(p.height)) return site.Invalid("the file's image has no size that can be");
  p.pixel = bits / 8;
  p.red = 2;
  p.blue = 0;
  const int64_t stride = (p.width * p.pixel + 3) / 4 * 4, begin = Little<uint32_t>(file, 10);
  if (begin + stride * p.height > static_cast<int64_t>(file.size())) return Truncated(site);
  // Rows go upwards, unless the height is negative.
  p.first = height > 0 ? begin + stride * (p.height - 1) : begin;
  p.row = height > 0 ? -stride : stride;
  return p;
}

// The next number of a PNM header, behind white space and comments; -1 where there is none.
int64_t NextNumber(Bytes file, size_t& at) {
  while (at < file.size()) {
    if (file[at] == '#') {
      while (at < file.size() && file[at] != '\n') ++at;
    } else if (std::strchr(" \t\r\n", file[at]) != nullptr && file[at] != 0) {
      ++at;
    } else {
      break;
    }
  }
  int64_t number = -1;
  for (; at < file.size() && file[at] >= '0' && file[at] <= '9' && number < (int64_t{1} << 24); ++at) {
    number = std::max<int64_t>(number, 0) * 10 + (file[at] - '0');
  }
  return number;
}

Result<Pixels> ReadPnm(const ReferenceSite& site, Bytes file) {
  size_t at = 2;
  Pixels p;
  p.width = NextNumber(file, at);
  p.height = NextNumber(file, at);
  const int64_t most = NextNumber(file, at);
  if (!IsSize(p.width) || !IsSize(p.height)) return site.Invalid("the file's image has no size that can be");
  if (most != 255) return site.Unsupported("is not supported for PNM files but those of numbers up to 255");
  p.grey = file[1] == '5';
  p.pixel = p.grey ? 1 : 3;
  p.row = p.width * p.pixel;
  p.first = static_cast<int64_t>(at) + 1;  // behind one white space
  if (p.first + p.row * p.height > static_cast<int64_t>(file.size())) return Truncated(site);
  return p;
}

Result<Pixels> ReadPixels(const ReferenceSite& site, Bytes file) {
  if (file.size() > 2 && file[0] == 'B' && file[1] == 'M') return ReadBmp(site, file);
  if (file.size() > 2 && file[0] == 'P' && (file[1] == '5' || file[1] == '6')) return ReadPnm(site, file);
  return site.Unsupported("is not supported for files of other formats than BMP and binary PGM and PPM");
}

// Rec. 601, rounded, as is usual.
uint8_t Luma(uint8_t red, uint8_t green, uint8_t blue) {
  return static_cast<uint8_t>((red * 19595 + green * 38470 + blue * 7471 + 0x8000) >> 16);
}

}  // namespace

Result<ReferenceRoutine> ImageDecoder(ReferenceSite& site) {
  PT_CHECK_OK(site.NeedInputs(1, 1));
  PT_CHECK_OK(site.NeedContent(0));
  if (site.in[0].type != DataType::kUint8 || site.in[0].rank() != 1)
    return site.Invalid("its input is not a list of bytes");
  PT_ASSIGN(const PixelFormat format, OrInvalid(ReadPixelFormat(site.node), site));
  const auto content = site.in[0].constant->bytes();
  PT_ASSIGN(const Pixels p, ReadPixels(site, {reinterpret_cast<const uint8_t*>(content.data()), content.size()}));
  const int64_t channels = format == PixelFormat::kGrayscale ? 1 : 3;
  PT_CHECK_OK(site.Out(0, DataType::kUint8, {p.height, p.width, channels}));
  const bool reversed = format == PixelFormat::kBgr;
  return ReferenceRoutine{[=](const TensorCall& run) -> Status {
    ParallelRanges(run.team, p.height, static_cast<double>(p.width) * 3, [&](int64_t begin, int64_t end) {
      for (int64_t y = begin; y < end; ++y) {
        for (int64_t x = 0; x < p.width; ++x) {
          const uint8_t* from = run.in<uint8_t>(0) + p.first + y * p.row + x * p.pixel;
          const std::array<uint8_t, 3> color =
              p.grey ? std::array{from[0], from[0], from[0]} : std::array{from[p.red], from[1], from[p.blue]};
          uint8_t* to = run.out<uint8_t>() + (y * p.width + x) * channels;
          if (channels == 1) {
            *to = p.grey ? from[0] : Luma(color[0], color[1], color[2]);
          } else {
            for (size_t c = 0; c < 3; ++c) to[c] = color[reversed ? 2 - c : c];
          }
        }
      }
    });
    return {};
  }};
}

}  // namespace pt::reference
