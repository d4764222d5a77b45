"""All layers, containers and losses."""

from autolab.nn.modules.activation import (
    CELU,
    ELU,
    GELU,
    GLU,
    SELU,
    Hardshrink,
    Hardtanh,
    LeakyReLU,
    LogSigmoid,
    LogSoftmax,
    PReLU,
    ReLU,
    ReLU6,
    RReLU,
    Sigmoid,
    SiLU,
    Softmax,
    Softmin,
    Softplus,
    Softshrink,
    Softsign,
    Tanh,
    Tanhshrink,
    Threshold,
)
from autolab.nn.modules.cells import GRUCell, LSTMCell, RNNCell, RNNCellBase
from autolab.nn.modules.container import (
    ModuleDict,
    ModuleList,
    ParameterDict,
    ParameterList,
    Sequential,
)
from autolab.nn.modules.conv import Conv1d, Conv2d, Conv3d, ConvTranspose1d, ConvTranspose2d
from autolab.nn.modules.distance import CosineSimilarity
from autolab.nn.modules.dropout import Dropout, Dropout2d
from autolab.nn.modules.flatten import Flatten, Unflatten
from autolab.nn.modules.lazy import (
    LazyBatchNorm1d,
    LazyBatchNorm2d,
    LazyConv2d,
    LazyLinear,
)
from autolab.nn.modules.linear import Identity, Linear
from autolab.nn.modules.loss import (
    BCELoss,
    BCEWithLogitsLoss,
    CosineEmbeddingLoss,
    CrossEntropyLoss,
    HuberLoss,
    KLDivLoss,
    L1Loss,
    MSELoss,
    NLLLoss,
    SmoothL1Loss,
)
from autolab.nn.modules.module import Module
from autolab.nn.modules.normalization import (
    BatchNorm1d,
    BatchNorm2d,
    BatchNorm3d,
    GroupNorm,
    InstanceNorm1d,
    InstanceNorm2d,
    LayerNorm,
    RMSNorm,
)
from autolab.nn.modules.padding import (
    ConstantPad1d,
    ConstantPad2d,
    ConstantPad3d,
    ReflectionPad1d,
    ReflectionPad2d,
    ReflectionPad3d,
    ReplicationPad1d,
    ReplicationPad2d,
    ReplicationPad3d,
    ZeroPad1d,
    ZeroPad2d,
    ZeroPad3d,
)
from autolab.nn.modules.pooling import (
    AdaptiveAvgPool1d,
    AdaptiveAvgPool2d,
    AdaptiveMaxPool2d,
    AvgPool1d,
    AvgPool2d,
    MaxPool1d,
    MaxPool2d,
)
from autolab.nn.modules.rnn import GRU, LSTM, RNN, RNNBase
from autolab.nn.modules.upsampling import (
    PixelShuffle,
    Unfold,
    Upsample,
)
from autolab.nn.modules.sparse import Embedding, EmbeddingBag
from autolab.nn.modules.attention import MultiheadAttention
from autolab.nn.modules.transformer import (
    Transformer,
    TransformerDecoder,
    TransformerDecoderLayer,
    TransformerEncoder,
    TransformerEncoderLayer,
)

__all__ = [name for name, value in list(globals().items()) if isinstance(value, type)]
