"""Convolutional classifiers: the MNIST CNN, AlexNet, VGG-11 with batch norm, VGG-19, ResNet-18. Plain PyTorch, the published architectures."""
import torch
from torch import nn
import torch.nn.functional as F


class WithLoss(nn.Module):
    """Adds labels and the mean cross entropy to a classifier, so that the graph can be trained."""

    def __init__(self, net):
        super().__init__()
        self.net = net

    def forward(self, x, labels):
        logits = self.net(x)
        return logits, F.cross_entropy(logits, labels)


class MnistCNN(nn.Module):
    """PyTorch's examples/mnist: two convolutions, two dropouts, two linear layers, log-softmax and NLL."""

    def __init__(self, dropout=True):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 32, 3, 1)
        self.conv2 = nn.Conv2d(32, 64, 3, 1)
        self.dropout1 = nn.Dropout(0.25) if dropout else nn.Identity()
        self.dropout2 = nn.Dropout(0.5) if dropout else nn.Identity()
        self.fc1 = nn.Linear(9216, 128)
        self.fc2 = nn.Linear(128, 10)

    def forward(self, x, labels):
        x = F.relu(self.conv1(x))
        x = F.relu(self.conv2(x))
        x = self.dropout1(F.max_pool2d(x, 2))
        x = F.relu(self.fc1(torch.flatten(x, 1)))
        output = F.log_softmax(self.fc2(self.dropout2(x)), dim=1)
        return output, F.nll_loss(output, labels)


def conv_relu(inp, out, kernel, stride=1, padding=0):
    return [nn.Conv2d(inp, out, kernel, stride, padding), nn.ReLU(inplace=True)]


class AlexNet(nn.Module):
    def __init__(self, classes=1000):
        super().__init__()
        self.features = nn.Sequential(
            *conv_relu(3, 64, 11, 4, 2), nn.MaxPool2d(3, 2), *conv_relu(64, 192, 5, 1, 2), nn.MaxPool2d(3, 2),
            *conv_relu(192, 384, 3, 1, 1), *conv_relu(384, 256, 3, 1, 1), *conv_relu(256, 256, 3, 1, 1), nn.MaxPool2d(3, 2))
        self.avgpool = nn.AdaptiveAvgPool2d((6, 6))
        self.classifier = nn.Sequential(
            nn.Dropout(0.5), nn.Linear(9216, 4096), nn.ReLU(inplace=True), nn.Dropout(0.5), nn.Linear(4096, 4096),
            nn.ReLU(inplace=True), nn.Linear(4096, classes))

    def forward(self, x):
        return self.classifier(torch.flatten(self.avgpool(self.features(x)), 1))


class VGG11BN(nn.Module):
    def __init__(self, classes=1000):
        super().__init__()
        layers, channels = [], 3
        for width in (64, "M", 128, "M", 256, 256, "M", 512, 512, "M", 512, 512, "M"):
            if width == "M":
                layers.append(nn.MaxPool2d(2, 2))
            else:
                layers += [nn.Conv2d(channels, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU(inplace=True)]
                channels = width
        self.features = nn.Sequential(*layers)
        self.avgpool = nn.AdaptiveAvgPool2d((7, 7))
        self.classifier = nn.Sequential(
            nn.Linear(512 * 49, 4096), nn.ReLU(True), nn.Dropout(), nn.Linear(4096, 4096), nn.ReLU(True), nn.Dropout(),
            nn.Linear(4096, classes))

    def forward(self, x):
        return self.classifier(torch.flatten(self.avgpool(self.features(x)), 1))


class VGG19(nn.Module):
    """For images of `size` pixels, a multiple of 32; 224 is the published architecture."""

    def __init__(self, classes=1000, size=224):
        super().__init__()
        layers, channels = [], 3
        for width, count in ((64, 2), (128, 2), (256, 4), (512, 4), (512, 4)):
            for _ in range(count):
                layers += conv_relu(channels, width, 3, 1, 1)
                channels = width
            layers.append(nn.MaxPool2d(2, 2))
        self.features = nn.Sequential(*layers)
        self.classifier = nn.Sequential(
            nn.Linear(512 * (size // 32) ** 2, 4096), nn.ReLU(True), nn.Dropout(), nn.Linear(4096, 4096), nn.ReLU(True), nn.Dropout(),
            nn.Linear(4096, classes))
        for module in self.modules():  # without batch norm PyTorch's default lets 16 convolutions fade
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
                nn.init.zeros_(module.bias)

    def forward(self, x):
        return self.classifier(torch.flatten(self.features(x), 1))


class BasicBlock(nn.Module):
    def __init__(self, inp, out, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inp, out, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(out)
        self.conv2 = nn.Conv2d(out, out, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(out)
        self.downsample = None
        if stride != 1 or inp != out:
            self.downsample = nn.Sequential(nn.Conv2d(inp, out, 1, stride, bias=False), nn.BatchNorm2d(out))

    def forward(self, x):
        skip = x if self.downsample is None else self.downsample(x)
        x = F.relu(self.bn1(self.conv1(x)))
        return F.relu(self.bn2(self.conv2(x)) + skip)


class ResNet18(nn.Module):
    def __init__(self, classes=1000):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 64, 7, 2, 3, bias=False)
        self.bn1 = nn.BatchNorm2d(64)
        self.maxpool = nn.MaxPool2d(3, 2, 1)
        stages, inp = [], 64
        for out, stride in ((64, 1), (128, 2), (256, 2), (512, 2)):
            stages.append(nn.Sequential(BasicBlock(inp, out, stride), BasicBlock(out, out, 1)))
            inp = out
        self.layer1, self.layer2, self.layer3, self.layer4 = stages
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(512, classes)

    def forward(self, x):
        x = self.maxpool(F.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(torch.flatten(self.avgpool(x), 1))


def images(size, channels=3, classes=1000):
    return {"x": torch.randn(2, channels, size, size), "labels": torch.randint(0, classes, (2,))}


def mnist_cnn():
    return MnistCNN(), images(28, 1, 10), ["output", "loss"]


def mnist_cnn_no_dropout():
    return MnistCNN(dropout=False), images(28, 1, 10), ["output", "loss"]


def alexnet():
    return WithLoss(AlexNet()), images(224), ["logits", "loss"]


def vgg11_bn():
    return WithLoss(VGG11BN()), images(224), ["logits", "loss"]


def resnet18():
    return WithLoss(ResNet18()), images(64), ["logits", "loss"]
