#include "persistent.cu"
template __global__ void persistent_layer<CELL_GRU, DEEPBENCH_F16, 2816, 22>(const __grid_constant__ PersistentLayer);
template __global__ void persistent_layer<CELL_GRU, DEEPBENCH_F16, 2048, 16>(const __grid_constant__ PersistentLayer);
template __global__ void persistent_layer<CELL_LSTM, DEEPBENCH_F16, 2048, 16>(const __grid_constant__ PersistentLayer);
template __global__ void persistent_layer<CELL_GRU, DEEPBENCH_BF16, 512, 4>(const __grid_constant__ PersistentLayer);
