// Instances of the template in persistent.cu that the host names (persistent_expression), for
// compile_all.sh: the largest layers, one with partial tiles, some whose size is odd or no multiple
// of a vector, and the smallest.
#include "persistent.cu"

struct Instances {
  const void* kernels[7] = {(const void*)persistent_layer<CELL_GRU, DEEPBENCH_F16, 2816, 22, 4>,
                            (const void*)persistent_layer<CELL_LSTM, DEEPBENCH_F16, 2048, 16, 4>,
                            (const void*)persistent_layer<CELL_GRU, DEEPBENCH_F16, 2560, 20, 1>,
                            (const void*)persistent_layer<CELL_GRU, DEEPBENCH_BF16, 1040, 8, 7>,
                            (const void*)persistent_layer<CELL_GRU, DEEPBENCH_F16, 2701, 22, 4>,
                            (const void*)persistent_layer<CELL_LSTM, DEEPBENCH_BF16, 1500, 12, 2>,
                            (const void*)persistent_layer<CELL_VANILLA, DEEPBENCH_BF16, 16, 2, 1>};
};

Instances instances;
