"""Networks that no package has, built in PyTorch from their published descriptions, for
record_shapes.py."""

from __future__ import annotations

import torch
from torch import nn


def alexnet() -> nn.Module:
    """AlexNet with two groups, without its response norms."""
    return nn.Sequential(
        nn.Conv2d(3, 96, 11, stride=4),
        nn.ReLU(inplace=True),
        nn.MaxPool2d(3, 2),
        nn.Conv2d(96, 256, 5, padding=2, groups=2),
        nn.ReLU(inplace=True),
        nn.MaxPool2d(3, 2),
        nn.Conv2d(256, 384, 3, padding=1),
        nn.ReLU(inplace=True),
        nn.Conv2d(384, 384, 3, padding=1, groups=2),
        nn.ReLU(inplace=True),
        nn.Conv2d(384, 256, 3, padding=1, groups=2),
        nn.ReLU(inplace=True),
        nn.MaxPool2d(3, 2),
        nn.Flatten(),
        nn.Linear(256 * 6 * 6, 4096),
        nn.ReLU(inplace=True),
        nn.Linear(4096, 4096),
        nn.ReLU(inplace=True),
        nn.Linear(4096, 1000),
    )


def mobilenet_v1() -> nn.Module:
    def normalized(convolution: nn.Conv2d) -> list[nn.Module]:
        return [convolution, nn.BatchNorm2d(convolution.out_channels), nn.ReLU(inplace=True)]

    layers = normalized(nn.Conv2d(3, 32, 3, stride=2, padding=1, bias=False))
    channels = 32
    for outputs in (64, 128, 128, 256, 256, 512, *[512] * 5, 1024, 1024):
        stride = 2 if outputs > channels and channels > 32 else 1
        depthwise = nn.Conv2d(
            channels, channels, 3, stride=stride, padding=1, groups=channels, bias=False
        )
        layers += normalized(depthwise)
        layers += normalized(nn.Conv2d(channels, outputs, 1, bias=False))
        channels = outputs
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(1024, 1000))


class SSDResNet34(nn.Module):
    """MLPerf's detector: three stages of ResNet-34, five maps more, and two convolutions of each
    map that find boxes and classes."""

    def __init__(self) -> None:
        super().__init__()
        from torchvision.models import resnet34

        resnet = resnet34(weights=None)
        resnet.layer3[0].conv1.stride = resnet.layer3[0].downsample[0].stride = (1, 1)
        self.first = nn.Sequential(
            resnet.conv1, resnet.bn1, resnet.relu, resnet.maxpool,
            resnet.layer1, resnet.layer2, resnet.layer3,
        )  # fmt: skip
        channels = (256, 512, 512, 256, 256, 256)
        narrow = (256, 256, 128, 128, 128)
        self.more = nn.ModuleList(
            nn.Sequential(
                nn.Conv2d(channels[i], narrow[i], 1),
                nn.ReLU(inplace=True),
                nn.Conv2d(
                    narrow[i], channels[i + 1], 3,
                    stride=2 if i < 3 else 1, padding=1 if i < 3 else 0,
                ),
                nn.ReLU(inplace=True),
            )
            for i in range(5)
        )  # fmt: skip
        anchors = (4, 6, 6, 6, 4, 4)
        self.boxes, self.classes = (
            nn.ModuleList(
                nn.Conv2d(channels[i], anchors[i] * outputs, 3, padding=1) for i in range(6)
            )
            for outputs in (4, 81)
        )

    def forward(self, images: torch.Tensor) -> list[torch.Tensor]:
        self.set_strides(large=images.shape[-1] == 1200)
        maps = [self.first(images)]
        for layers in self.more:
            maps.append(layers(maps[-1]))
        return [
            torch.cat([layer(one).flatten(1) for layer, one in zip(layers, maps, strict=True)], 1)
            for layers in (self.boxes, self.classes)
        ]

    def set_strides(self, large: bool) -> None:
        """The variant for images of 1200 by 1200 halves the fifth map, and finds boxes in every
        third row and column."""
        self.more[3][2].stride = (2, 2) if large else (1, 1)
        for layer in (*self.boxes, *self.classes):
            layer.stride = (3, 3) if large else (1, 1)


class Minigo(nn.Module):
    """A residual tower with a head for the policy and one for the value."""

    def __init__(self, side: int, planes: int, filters: int, blocks: int) -> None:
        super().__init__()

        def normalized(inputs: int, outputs: int, size: int) -> list[nn.Module]:
            convolution = nn.Conv2d(inputs, outputs, size, padding=size // 2)
            return [convolution, nn.BatchNorm2d(outputs, affine=False), nn.ReLU(inplace=True)]

        points = side * side
        self.first = nn.Sequential(*normalized(planes, filters, 3))
        self.tower = nn.ModuleList(
            nn.Sequential(*normalized(filters, filters, 3), *normalized(filters, filters, 3)[:-1])
            for _ in range(blocks)
        )
        self.policy = nn.Sequential(
            *normalized(filters, 2, 1), nn.Flatten(), nn.Linear(2 * points, points + 1)
        )
        self.value = nn.Sequential(
            *normalized(filters, 1, 1), nn.Flatten(), nn.Linear(points, 64),
            nn.ReLU(inplace=True), nn.Linear(64, 1), nn.Tanh(),
        )  # fmt: skip

    def forward(self, positions: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        state = self.first(positions)
        for block in self.tower:
            state = torch.relu_(state + block(state))
        return self.policy(state), self.value(state)
