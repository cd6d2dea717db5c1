#include "test/cuda/cuda_cases.h"

namespace pt::testing {
namespace {

std::string Operator(const std::string& q, const std::string& k, const std::string& v, const std::string& attributes,
                     const std::string& mask = "") {
  return "input q float32" + q + "\ninput k float32" + k + "\ninput v float32" + v + "\n" +
         (mask.empty() ? "" : "input m " + mask + "\n") + "y = Attention(q, k, v" + (mask.empty() ? "" : ", m") + ") " +
         attributes + "\noutput y\n";
}

// As exporters write it: [batch, length, heads, size] with transpositions around the products. `scores`: the lines from
// the product s to t.
std::string Spelled(const std::string& q, const std::string& k, const std::string& v, const std::string& more,
                    const std::string& scores) {
  return "input q float32" + q + "\ninput k float32" + k + "\ninput v float32" + v + "\n" + more +
         "a = Transpose(q) perm=[0,2,1,3]\nb = Transpose(k) perm=[0,2,3,1]\nc = Transpose(v) perm=[0,2,1,3]\n"
         "s = MatMul(a, b)\n" +
         scores + "p = Softmax(t) axis=-1\no = MatMul(p, c)\ny = Transpose(o) perm=[0,2,1,3]\noutput y\n";
}

void AddOperators(std::vector<std::string>& cases) {
  const std::string q4 = "[2,3,5,4]", k4 = "[2,3,6,4]", v4 = "[2,3,6,7]";
  cases.push_back(Operator(q4, k4, v4, ""));
  cases.push_back(Operator(q4, k4, v4, "scale=0.3 softcap=2.0"));
  cases.push_back(Operator("[2,5,12]", "[2,6,12]", "[2,6,21]", "q_num_heads=3 kv_num_heads=3"));
  cases.push_back(Operator("[2,5,24]", "[2,6,8]", "[2,6,10]", "q_num_heads=6 kv_num_heads=2"));  // shared keys
  cases.push_back(Operator("[1,4,5,4]", "[1,2,6,4]", "[1,2,6,7]", "", "float32[1,4,5,6]"));
  cases.push_back(Operator("[2,5,12]", "[2,5,12]", "[2,5,6]", "q_num_heads=3 kv_num_heads=3 is_causal=1"));
  cases.push_back(Operator(q4, k4, v4, "is_causal=1"));
  cases.push_back(Operator("[1,2,70,4]", "[1,2,70,4]", "[1,2,70,9]", "is_causal=1", "float32[70,70]"));
  cases.push_back(Operator("[1,1,130,8]", "[1,1,150,8]", "[1,1,150,8]", "left_window_size=70 right_window_size=9"));
  cases.push_back(Operator("[1,1,9,8]", "[1,1,150,8]", "[1,1,150,8]", ""));     // several tiles of keys
  cases.push_back(Operator("[1,1,67,40]", "[1,1,66,40]", "[1,1,66,150]", ""));  // several chunks of columns
  cases.push_back(Operator("[1,1,1,64]", "[1,1,65,64]", "[1,1,65,64]", ""));
  cases.push_back(Operator("[1,2,0,4]", "[1,2,6,4]", "[1,2,6,7]", ""));
  for (const char* dims : {"[5,6]", "[3,5,6]", "[2,1,5,6]", "[2,3,5,6]", "[1,6]", "[5,4]", "[6]"}) {
    for (const char* type : {"float32", "bool"}) {
      cases.push_back(Operator(q4, k4, v4, "", std::string(type) + dims));
    }
  }
  for (const char* type : {"float16", "bfloat16"}) {
    std::string text = Operator("[1,2,20,16]", "[1,2,70,16]", "[1,2,70,16]", "", "float32[20,70]");
    for (size_t at; (at = text.find("float32")) != std::string::npos;) text.replace(at, 7, type);
    cases.push_back(text);
  }
}

// Behind a past of keys and values, with the results that go on as the next one's past.
std::string Cached(const std::string& q, const std::string& kv, const std::string& past, const std::string& attributes,
                   const std::string& mask = "", const std::string& results = "y, pk, pv",
                   const std::string& type = "float32") {
  std::string text;
  for (const auto& [name, dims] : {std::pair("q", q), {"k", kv}, {"v", kv}}) {
    text += std::string("input ") + name + " " + type + dims + "\n";
  }
  if (!mask.empty()) text += "input m " + mask + "\n";
  if (!past.empty()) text += "input a " + type + past + "\ninput b " + type + past + "\n";
  text += results + " = Attention(q, k, v" +
          (mask.empty() && past.empty() ? ""
           : mask.empty()               ? ", _"
                                        : ", m") +
          (past.empty() ? "" : ", a, b") + ") " + attributes + "\n";
  for (const char* result : {"y", "pk", "pv"}) {
    if (results.find(result) != std::string::npos) text += std::string("output ") + result + "\n";
  }
  return text;
}

void AddCached(std::vector<std::string>& cases) {
  cases.push_back(Cached("[2,3,1,4]", "[2,3,1,4]", "[2,3,7,4]", ""));
  cases.push_back(Cached("[2,3,1,4]", "[2,3,1,4]", "[2,3,7,4]", "", "", "y"));
  cases.push_back(Cached("[2,3,1,4]", "[2,3,1,4]", "[2,3,0,4]", "is_causal=1"));
  cases.push_back(Cached("[1,2,5,8]", "[1,2,5,8]", "[1,2,68,8]", "is_causal=1"));  // over the end of a tile
  cases.push_back(Cached("[1,2,5,8]", "[1,2,3,8]", "[1,2,6,8]", "is_causal=1"));  // more queries than keys of their own
  cases.push_back(Cached("[2,3,24]", "[2,3,8]", "[2,2,6,4]", "q_num_heads=6 kv_num_heads=2 is_causal=1"));
  cases.push_back(Cached("[1,4,3,4]", "[1,2,3,4]", "[1,2,9,4]", "softcap=1.5", "float32[3,12]"));
  cases.push_back(Cached("[1,4,3,4]", "[1,2,3,4]", "[1,2,9,4]", "is_causal=1", "bool[1,4,3,12]"));
  cases.push_back(Cached("[1,2,3,4]", "[1,2,3,4]", "[1,2,9,4]", "", "bool[3,10]"));  // hides what is behind it
  cases.push_back(Cached("[1,1,40,8]", "[1,1,40,8]", "[1,1,120,8]", "left_window_size=30 right_window_size=2"));
  cases.push_back(Cached("[1,1,3,8]", "[1,1,3,8]", "[1,1,140,8]", "left_window_size=5 is_causal=1"));
  // Results without a past, whose dims inference does not tell.
  cases.push_back(Cached("[2,3,24]", "[2,3,8]", "",
                         "q_num_heads=6 kv_num_heads=2 : float32[2,3,24], float32[2,2,3,4], float32[2,2,3,4]"));
  cases.emplace_back(
      "input q float32[1,2,5,4]\ninput k float32[1,2,6,4]\ninput v float32[1,2,6,7]\ninput a float32[1,2,3,4]\n"
      "input b float32[1,2,3,7]\ny, pk, pv = Attention(q, k, v, _, a, b)\noutput y\noutput pv\n");
  cases.push_back(Cached("[1,2,0,4]", "[1,2,2,4]", "[1,2,6,4]", ""));
  for (const char* type : {"float16", "bfloat16"}) {
    cases.push_back(Cached("[1,4,2,16]", "[1,2,2,16]", "[1,2,70,16]", "is_causal=1", "", "y, pk, pv", type));
  }
}

// Few queries over many keys, which blocks share.
void AddLong(std::vector<std::string>& cases) {
  const std::string q = "[1,2,1,16]", k = "[1,2,530,16]";
  cases.push_back(Operator(q, k, k, ""));
  cases.push_back(Operator("[1,8,3,16]", "[1,2,520,16]", "[1,2,520,9]", "softcap=2.0"));
  cases.push_back(Operator("[2,5,32]", "[2,530,16]", "[2,530,6]", "q_num_heads=4 kv_num_heads=2"));
  cases.push_back(Operator("[1,1,1,8]", "[1,1,2100,8]", "[1,1,2100,8]", ""));
  cases.push_back(Operator("[1,1,2,8]", "[1,1,520,8]", "[1,1,520,150]", ""));  // several chunks of columns
  cases.push_back(Operator(q, k, k, "", "float32[1,530]"));
  // Parts in which all is hidden, for some queries and for all.
  cases.push_back(Operator("[1,2,7,16]", k, k, "is_causal=1"));
  cases.push_back(Operator(q, k, k, "", "bool[1,200]"));
  cases.push_back(Operator(q, k, k, "", "float32[2,1,100]"));
  cases.push_back("input q float32" + q + "\ninput k float32" + k + "\ninput v float32" + k +
                  "\nconst m bool[1,530] zeros\ny = Attention(q, k, v, m)\noutput y\n");
  for (const char* attributes : {"is_causal=1", "left_window_size=20 is_causal=1", "left_window_size=150"}) {
    cases.push_back(Cached("[1,2,3,16]", "[1,2,3,16]", "[1,2,600,16]", attributes));
  }
  cases.push_back(Cached("[1,4,16]", "[1,4,8]", "[1,1,600,8]", "q_num_heads=2 kv_num_heads=1", "bool[4,604]"));
  for (const char* type : {"float16", "bfloat16"}) {
    cases.push_back(Cached("[1,4,1,16]", "[1,2,1,16]", "[1,2,530,16]", "is_causal=1", "", "y, pk, pv", type));
  }
  cases.push_back(Spelled("[1,2,2,24]", "[1,530,2,24]", "[1,530,2,20]",
                          "const d float32[] value 2.5\ninput m float32[1,1,1,530]\n",
                          "u = Div(s, d)\nt = Add(u, m)\n"));
}

void AddSpelled(std::vector<std::string>& cases) {
  const std::string q = "[2,5,3,4]", k = "[2,6,3,4]", v = "[2,6,3,7]";
  const std::string number = "const d float32[] value 2.5\nconst e float32[] value -5\n";
  const auto add = [&](const std::string& more, const std::string& scores) {
    cases.push_back(Spelled(q, k, v, number + more, scores));
  };
  add("", "t = Div(s, d)\n");
  add("input m float32[2,1,1,6]\n", "u = Div(s, d)\nt = Add(u, m)\n");
  add("input m float32[5,6]\ninput n bool[2,1,1,6]\n", "u = Mul(s, d)\nr = Add(u, m)\nt = Where(n, r, e)\n");
  add("input n bool[3,1,1]\n", "u = Mul(s, d)\nt = Where(n, e, u)\n");
  add("const m float32[5,6] random 4\n", "u = Mul(d, s)\nt = Add(m, u)\n");
  cases.push_back(Spelled("[1,70,2,24]", "[1,67,2,24]", "[1,67,2,20]", number, "t = Div(s, d)\n"));
  cases.emplace_back(
      "input q float32[5,4]\ninput k float32[4,6]\ninput v float32[3,6,9]\ns = MatMul(q, k)\np = Softmax(s)\n"
      "y = MatMul(p, v)\noutput y\n");
  cases.emplace_back(
      "input q float32[2,1,3,5,4]\ninput k float32[8,1,6,4]\ninput v float32[6,3]\nb = Transpose(k) perm=[0,1,3,2]\n"
      "s = MatMul(q, b)\np = Softmax(s)\ny = MatMul(p, v)\noutput y\n");
  cases.emplace_back(
      "input x float32[1,20,16]\nb = Transpose(x) perm=[0,2,1]\ns = MatMul(x, b)\np = Softmax(s)\ny = MatMul(p, x)\n"
      "output y\n");  // one tensor as queries, keys and values
}

}  // namespace

std::vector<std::string> AttentionCases() {
  std::vector<std::string> cases;
  AddOperators(cases);
  AddCached(cases);
  AddLong(cases);
  AddSpelled(cases);
  return cases;
}

std::vector<std::string> LoweredAttentionCases() {
  return {Operator("[1,2,20,16]", "[1,2,70,16]", "[1,2,70,16]", "is_causal=1", "float32[20,70]"),
          Operator("[1,2,20,16]", "[1,2,70,16]", "[1,2,70,16]", "", "bool[20,70]"),
          Spelled("[1,10,2,24]", "[1,67,2,24]", "[1,67,2,20]",
                  "const d float32[] value 4.9\ninput m float32[1,1,1,67]\n", "u = Div(s, d)\nt = Add(u, m)\n")};
}

}  // namespace pt::testing
