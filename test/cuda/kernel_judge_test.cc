// What the judge of kernels tells, and what it does not: kernels with one fault each, beside the same without it.
#include "test/cuda/kernel_judge.h"

#include <array>
#include <catch2/catch_test_macros.hpp>
#include <cstring>
#include <numeric>

#include "test/cuda/host_kernel.h"

namespace pt::testing::kernel_judge_test {
namespace {

using Faults = std::vector<std::string>;

// Two arrays of device memory, of which the first is written, and a word for messages.
class Bench {
 public:
  static constexpr size_t kElements = 256;

  Bench() {
    std::iota(in.begin(), in.end(), 0.0F);
    out.fill(-1.0F);
    judge.AddMemory(Address(in.data()), sizeof(in));
    judge.MarkWritten(Address(in.data()), sizeof(in));
    judge.AddMemory(Address(out.data()), sizeof(out));
    judge.AddMemory(Address(&message), sizeof(message), KernelJudge::Writers::kAnyNumber);
  }

  // body: of a kernel that reads `in` and writes `out`, arrays of float32, on line 2 and what follows.
  Faults Run(const std::string& body, uint32_t blocks = 1, uint32_t threads = 64,
             std::optional<uint32_t> left_out = std::nullopt) {
    const std::string text = cuda::KernelPrelude() +
                             "extern \"C\" __global__ void pt_kernel(const Arguments arguments) { const float* in = "
                             "(const float*)arguments.at[0]; float* out = (float*)arguments.at[1];\n" +
                             body + "\n}\n";
    const auto kernel = HostKernel::Compile(text, HostKernel::Build::kWatched);
    if (!kernel.ok()) FAIL(ToString(kernel.error()));
    cuda::Arguments arguments;
    arguments.at[0] = Address(in.data());
    arguments.at[1] = Address(out.data());
    arguments.fault = Address(&message);
    (*kernel)->Run(blocks, threads, arguments, judge, left_out);
    return judge.TakeFaults();
  }

  static uintptr_t Address(const void* data) { return reinterpret_cast<uintptr_t>(data); }

  alignas(256) uint64_t message = 0;
  alignas(256) std::array<float, kElements> in = {};
  alignas(256) std::array<float, kElements> out = {};  // with nothing behind it that kernels know of
  KernelJudge judge;
};

// One fault, which says all of it.
void CheckTold(const Faults& faults, const std::vector<std::string>& parts) {
  REQUIRE(faults.size() == 1);
  INFO(faults[0]);
  for (const std::string& part : parts) {
    INFO(part);
    CHECK(faults[0].find(part) != std::string::npos);
  }
}

const std::string kExchange =
    "__shared__ float tile[64];\ntile[threadIdx.x] = in[threadIdx.x];\n__syncthreads();\n"
    "out[threadIdx.x] = tile[threadIdx.x ^ 1];";

}  // namespace

TEST_CASE("KernelJudge, AReadOfSharedMemoryWithoutABarrierIsToldWithBothLines", "[cuda]") {
  Bench bench;
  CHECK(bench.Run(kExchange).empty());
  CHECK(bench.out[4] == 5.0F);
  // In the order in which threads run here each second one sees what it should.
  const Faults faults = bench.Run(
      "__shared__ float tile[64];\ntile[threadIdx.x] = in[threadIdx.x];\n"
      "if (threadIdx.x % 2 == 1) out[threadIdx.x] = tile[threadIdx.x - 1];");
  CheckTold(faults, {"pt_kernel: thread 1 of block 0 reads 4 bytes at shared memory, tile + 0, which thread 0 of block "
                     "0 has written between the same two barriers; line 4 `if (threadIdx.x % 2 == 1)",
                     "; line 3 `tile[threadIdx.x] = in[threadIdx.x];`", "(32 times)"});
}

TEST_CASE("KernelJudge, AWriteAfterAnothersReadOrWriteIsTold", "[cuda]") {
  Bench bench;
  CheckTold(bench.Run("__shared__ int tile[64];\ntile[threadIdx.x] = 1;\n__syncthreads();\n"
                      "const int read = threadIdx.x < 63 ? tile[threadIdx.x + 1] : 0;\ntile[threadIdx.x] = read;"),
            {"writes 4 bytes at shared memory, tile + ", "has read between the same two barriers; line 6", "line 5"});
  CheckTold(bench.Run("__shared__ int one;\none = threadIdx.x;\n__syncthreads();\nout[threadIdx.x] = one;"),
            {"thread 1 of block 0 writes 4 bytes at shared memory, one + 0, which thread 0 of block 0 has written"});
  CheckTold(bench.Run("out[threadIdx.x / 2] = 1;"), {"at argument 1 + 0, which thread 0 of block 0 has written"});
  CHECK(bench
            .Run("__shared__ int one;\nif (threadIdx.x == 7) one = 1;\n__syncthreads();\nif (threadIdx.x == 9 && one) "
                 "one = 2;")
            .empty());
}

TEST_CASE("KernelJudge, ABarrierThatIsLeftOutIsAsIfItWereNotInTheText", "[cuda]") {
  Bench bench;
  // Thread 0 reads what is not there yet, thread 1 writes that, and then reads what thread 0 has written.
  const Faults faults = bench.Run(kExchange, 1, 64, 0);
  REQUIRE(faults.size() == 3);
  CheckTold({faults[0]}, {"thread 0 of block 0 reads 4 bytes at shared memory, tile + 4, where its block has written"});
  CheckTold({faults[1]},
            {"thread 1 of block 0 writes 4 bytes at shared memory, tile + 4, which thread 0 of block 0 has"});
  CheckTold({faults[2]},
            {"thread 1 of block 0 reads 4 bytes at shared memory, tile + 0, which thread 0 of block 0 has"});
  CHECK(bench.Run(kExchange, 1, 64, 1).empty());
}

TEST_CASE("KernelJudge, BlocksOfALaunchShareNoByteThatIsWritten", "[cuda]") {
  Bench bench;
  const std::string own = "out[blockIdx.x * 64 + threadIdx.x] = in[threadIdx.x];";
  CHECK(bench.Run(own, 4).empty());
  CHECK(bench.Run(own, 4).empty());  // another launch comes behind the first
  CheckTold(bench.Run("out[threadIdx.x] = 1;", 2),
            {"thread 0 of block 1 writes 4 bytes at argument 1 + 0, which thread 0 of block 0 has written in the same "
             "launch"});
  CheckTold(bench.Run("if (blockIdx.x == 0) out[threadIdx.x] = 1; else out[threadIdx.x + 64] = out[threadIdx.x];", 2),
            {"thread 0 of block 1 reads 4 bytes at argument 1 + 0, which thread 0 of block 0 has written"});
  // The first of three blocks reads, the second does as well, and the last one writes.
  CheckTold(
      bench.Run("const float read = out[threadIdx.x];\nif (blockIdx.x == 2 || read == 9) out[threadIdx.x] = 9;", 3),
      {"thread 0 of block 2 writes 4 bytes at argument 1 + 0, which thread 0 of block 0 has read"});
}

TEST_CASE("KernelJudge, WhatLiesOutsideOfMemoryIsToldAndNotTouched", "[cuda]") {
  Bench bench;
  CheckTold(bench.Run("out[192 + threadIdx.x + (threadIdx.x == 63)] = 1;"),
            {"thread 63 of block 0 writes 4 bytes where there is no memory: at argument 1 + 1024, of 1024 bytes"});
  CheckTold(bench.Run("out[0] = *(in - 1000000);", 1, 1), {"reads 4 bytes where there is no memory"});
  CheckTold(bench.Run("__shared__ float tile[4][5];\ntile[threadIdx.x / 5][threadIdx.x % 5] = 1;\n"
                      "__syncthreads();\nout[threadIdx.x] = tile[0][0];",
                      1, 21),
            {"thread 20 of block 0: an array has no element 4; line 3"});
  CheckTold(bench.Run("__shared__ float tile[4][5];\ntile[0][threadIdx.x] = 1;\n__syncthreads();\n"
                      "out[threadIdx.x] = tile[0][0];",
                      1, 6),
            {"thread 5 of block 0: an array has no element 5"});
  CheckTold(bench.Run("float own[3] = {};\nfor (int i = 0; i <= threadIdx.x; ++i) own[i] = in[i];\n"
                      "out[threadIdx.x] = own[0] + own[1] + own[2];",
                      1, 4),
            {"thread 3 of block 0: an array has no element 3"});
}

TEST_CASE("KernelJudge, VectorsThatAreNotAlignedAreTold", "[cuda]") {
  Bench bench;
  const auto four = [](const std::string& offset) {
    return "*(Four<float>*)(out + 4 * threadIdx.x + " + offset + ") = *(const Four<float>*)(in + 4 * threadIdx.x);";
  };
  CHECK(bench.Run(four("0")).empty());
  CHECK(bench.out[255] == 255.0F);
  CheckTold(bench.Run(four("2"), 1, 1), {"thread 0 of block 0: an access is not aligned as its type, at", "line 2"});
}

TEST_CASE("KernelJudge, BytesThatWereNeverWrittenAreNotRead", "[cuda]") {
  Bench bench;
  CheckTold(bench.Run("out[1] = out[0];", 1, 1), {"reads 4 bytes at argument 1 + 0, where nothing has written before"});
  CHECK(bench.Run("out[2] = out[1];", 1, 1).empty());
  CheckTold(bench.Run("__shared__ float one;\nif (blockIdx.x == 0) one = 1;\nout[blockIdx.x] = one;", 2, 1),
            {"thread 0 of block 1 reads 4 bytes at shared memory, one + 0, where its block has written before"});
  CheckTold(bench.Run("__shared__ float one;\nout[blockIdx.x] = one;", 1, 1), {"where its block has written before"});
  bench.judge.Copied(Bench::Address(&bench.in[0]), Bench::Address(&bench.out[8]), 16);
  CheckTold(bench.Run("out[0] = in[3];", 1, 1), {"argument 0 + 12, where nothing has written"});
}

TEST_CASE("KernelJudge, ThreadsThatDoNotMeetAtOneBarrierAreTold", "[cuda]") {
  Bench bench;
  CheckTold(bench.Run("if (threadIdx.x < 32) {\n__syncthreads();\n} else {\n__syncthreads();\n}"),
            {"the threads of a block do not meet at one place: thread 0 of block 0 waits in line 3 `__syncthreads();`: "
             "thread 32 of block 0 waits in line 5"});
  CheckTold(bench.Run("if (threadIdx.x == 5) return;\n__syncthreads();"),
            {"thread 0 of block 0 waits in line 3", "thread 5 of block 0 has ended"});
  CHECK(bench.Run("if (blockIdx.x == 1) return;\nfor (int i = 0; i < 3; ++i) __syncthreads();", 2).empty());
}

TEST_CASE("KernelJudge, AtomicsDoNotRaceWithEachOtherAndOrderNothing", "[cuda]") {
  Bench bench;
  bench.judge.MarkWritten(Bench::Address(bench.out.data()), sizeof(bench.out));
  bench.out.fill(0);
  CHECK(bench
            .Run("atomicAdd(out, 2.0f);\natomicMax((int*)out + 1, (int)threadIdx.x);\n"
                 "atomicCAS((unsigned*)out + 2, 0u, 7u);",
                 3)
            .empty());
  CHECK(bench.out[0] == 3 * 64 * 2.0F);
  int most = 0;
  std::memcpy(&most, &bench.out[1], sizeof(most));
  CHECK(most == 63);
  CHECK(bench
            .Run("__shared__ int sum;\nif (threadIdx.x == 0) sum = 0;\n__syncthreads();\natomicAdd(&sum, 1);\n"
                 "__syncthreads();\nout[threadIdx.x] = sum;")
            .empty());
  CHECK(bench.out[9] == 64.0F);
  CheckTold(bench.Run("__shared__ int sum;\nif (threadIdx.x == 0) sum = 0;\n__syncthreads();\natomicAdd(&sum, 1);\n"
                      "if (threadIdx.x == 9) out[9] = sum;"),
            {"thread 9 of block 0 reads 4 bytes at shared memory, sum + 0, which thread 0 of block 0 has changed by an "
             "atomic"});
  CheckTold(bench.Run("__shared__ int sum;\nif (threadIdx.x == 0) sum = 0;\natomicAdd(&sum, 1);"),
            {"changes by an atomic 4 bytes at shared memory, sum + 0, which thread 0 of block 0 has written"});
  CheckTold(bench.Run("if (blockIdx.x == 0) atomicAdd(out, 1.0f); else out[0] = 1;", 2, 1),
            {"thread 0 of block 1 writes 4 bytes at argument 1 + 0, which thread 0 of block 0 has changed"});
  CheckTold(
      bench.Run("out[3] = 1;\n__threadfence();\natomicAdd(out, 1.0f);\nif (blockIdx.x == 1) out[4] = out[3];", 2, 1),
      {"argument 1 + 12"});
}

TEST_CASE("KernelJudge, AWarpsMeetingOrdersItsLanesAndNoOthers", "[cuda]") {
  Bench bench;
  const auto exchange = [](const std::string& meeting, const std::string& other) {
    return "__shared__ float tile[64];\ntile[threadIdx.x] = in[threadIdx.x];\n" + meeting +
           ";\nout[threadIdx.x] = tile[" + other + "];\n" + meeting + ";\ntile[threadIdx.x] = 0;";
  };
  CHECK(bench.Run(exchange("__syncwarp()", "threadIdx.x ^ 31")).empty());
  CHECK(bench.out[33] == 62.0F);
  CHECK(bench.Run(exchange("__syncwarp(3u << threadIdx.x % 32 / 2 * 2)", "threadIdx.x ^ 1")).empty());
  CHECK(bench.Run(exchange("__syncwarp()", "threadIdx.x ^ 32")).size() == 2);
  CHECK(bench.Run(exchange("__syncwarp(3u << threadIdx.x % 32 / 2 * 2)", "threadIdx.x ^ 2")).size() == 2);
  // Shuffles and votes are no order of memory.
  CHECK(bench.Run(exchange("__shfl_sync(~0u, 0, 0)", "threadIdx.x ^ 31")).size() == 2);
  CHECK(bench.Run(exchange("__any_sync(~0u, 1)", "threadIdx.x ^ 31")).size() == 2);
}

TEST_CASE("KernelJudge, ReadsByAllWarpsAreRememberedWhenOneOfThemMeets", "[cuda]") {
  Bench bench;
  const auto after = [](const std::string& readers) {
    return "__shared__ float one;\nif (threadIdx.x == 0) one = 1;\n__syncthreads();\nif (" + readers +
           ") out[threadIdx.x] = one;\nif (threadIdx.x < 32) {\n__syncwarp();\nif (threadIdx.x == 3) one = 2;\n}";
  };
  CHECK(bench.Run(after("threadIdx.x < 32")).empty());
  CheckTold(bench.Run(after("threadIdx.x < 33")),
            {"thread 3 of block 0 writes", "which thread 32 of block 0 has read"});
}

TEST_CASE("KernelJudge, LanesExchangeWhatCudaSays", "[cuda]") {
  Bench bench;
  const auto results = [&](const std::string& number, uint32_t threads = 32) {
    CHECK(bench.Run("out[threadIdx.x] = " + number + ";", 1, threads).empty());
    return std::vector<float>(bench.out.begin(), bench.out.begin() + threads);
  };
  const auto expected = [](auto of) {
    std::vector<float> numbers(32);
    for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(of(static_cast<int>(i)));
    return numbers;
  };
  const std::string mine = "(int)threadIdx.x * 10";
  CHECK(results("__shfl_sync(~0u, " + mine + ", 5)") == expected([](int) { return 50; }));
  CHECK(results("__shfl_sync(~0u, " + mine + ", 5, 4)") == expected([](int i) { return (i / 4 * 4 + 1) * 10; }));
  CHECK(results("__shfl_up_sync(~0u, " + mine + ", 3)") == expected([](int i) { return (i < 3 ? i : i - 3) * 10; }));
  CHECK(results("__shfl_down_sync(~0u, " + mine + ", 3, 8)") ==
        expected([](int i) { return (i % 8 + 3 >= 8 ? i : i + 3) * 10; }));
  CHECK(results("__shfl_xor_sync(~0u, " + mine + ", 16)") == expected([](int i) { return (i ^ 16) * 10; }));
  CHECK(results("__shfl_xor_sync(~0u, 0.5 * threadIdx.x, 1)") == expected([](int i) { return 0.5 * (i ^ 1); }));
  CHECK(results("__ballot_sync(~0u, threadIdx.x % 5 == 0) == 0x42108421u") == expected([](int) { return 1; }));
  CHECK(results("__any_sync(~0u, threadIdx.x == 9) + 2 * __all_sync(~0u, threadIdx.x < 32)") ==
        expected([](int) { return 3; }));
  // There may be fewer lanes than are asked to come.
  CHECK(results("__ballot_sync(~0u, 1) == 0xffu", 8) == std::vector<float>(8, 1.0F));
}

TEST_CASE("KernelJudge, LanesThatWaitForOthersInVainAreTold", "[cuda]") {
  Bench bench;
  CheckTold(bench.Run("if (threadIdx.x < 16) __syncwarp();\nelse __syncthreads();", 1, 32),
            {"do not meet at one place: thread 0 of block 0 waits in line 2", "thread 16 of block 0 waits in line 3"});
  CHECK(bench.Run("if (threadIdx.x < 16) __syncwarp(0xffffu);", 1, 32).empty());
  CheckTold(bench.Run("if (threadIdx.x >= 16) __syncwarp(0xffffu);", 1, 32),
            {"thread 16 of block 0: a lane meets others and does not name itself"});
  CheckTold(bench.Run("if (threadIdx.x < 16) out[threadIdx.x] = __shfl_sync(0xffffu, 1, 20);", 1, 32),
            {"a lane asks for the value of one that does not meet it: 20; line 2"});
}

TEST_CASE("KernelJudge, MessagesMayBeWrittenByAll", "[cuda]") {
  Bench bench;
  CHECK(bench.Run("*arguments.fault = threadIdx.x + 1;", 2).empty());
  CHECK(bench.message == 64);
}

}  // namespace pt::testing::kernel_judge_test
