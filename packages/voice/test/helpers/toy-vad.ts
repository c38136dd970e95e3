/** Bytes of a protocol buffer; the model file of ONNX is one. */
function field(number: number, value: number | string | Uint8Array): Buffer {
  if (typeof value === 'number') return Buffer.concat([varint(number << 3), varint(value)])
  const bytes = Buffer.from(value)
  return Buffer.concat([varint((number << 3) | 2), varint(bytes.length), bytes])
}

function varint(value: number): Buffer {
  const bytes: number[] = []
  for (let rest = value; ; rest = Math.floor(rest / 128)) {
    if (rest < 128) return Buffer.from([...bytes, rest])
    bytes.push((rest % 128) | 128)
  }
}

const FLOAT = 1
const INT64 = 7

/** A tensor in the signature of a graph; a string is a dimension of any size. */
function signature(name: string, type: number, shape: (number | string)[]) {
  const dims = shape.map((dim) => field(1, typeof dim === 'number' ? field(1, dim) : field(2, dim)))
  const tensor = Buffer.concat([field(1, type), field(2, Buffer.concat(dims))])
  return Buffer.concat([field(1, name), field(2, field(1, tensor))])
}

function constant(name: string, type: number, dims: number[], data: Buffer) {
  return Buffer.concat([...dims.map((dim) => field(1, dim)), field(2, type), field(8, name), field(9, data)])
}
const float = (name: string, value: number) =>
  constant(name, FLOAT, [1], Buffer.from(Float32Array.of(value).buffer))
const axes = (name: string, ...values: number[]) =>
  constant(name, INT64, [values.length], Buffer.from(BigInt64Array.from(values, BigInt).buffer))

function node(type: string, inputs: string[], output: string, attributes: Record<string, number> = {}) {
  const attribute = ([name, value]: [string, number]) =>
    field(5, Buffer.concat([field(1, name), field(3, value), field(20, 2)]))
  return Buffer.concat([
    ...inputs.map((input) => field(1, input)),
    field(2, output),
    field(4, type),
    ...Object.entries(attributes).map(attribute)
  ])
}

/**
 * A model file with the inputs and outputs of Silero VAD, which remembers how loud its frames were: the state is half the old one and
 * twice the mean loudness, and its largest value is the probability.
 * @param state the name of an input
 */
export function toyVad({ state = 'state' } = {}): Buffer {
  const graph = Buffer.concat([
    ...[
      node('Abs', ['input'], 'loud'),
      node('ReduceMean', ['loud', 'axis1'], 'mean', { keepdims: 1 }),
      node('Mul', ['mean', 'two'], 'more'),
      node('Mul', [state, 'half'], 'old'),
      node('Add', ['old', 'more'], 'stateN'),
      node('ReduceMax', ['stateN', 'axes02'], 'most', { keepdims: 0 }),
      node('Unsqueeze', ['most', 'axis1'], 'column'),
      node('Min', ['column', 'one'], 'output')
    ].map((each) => field(1, each)),
    field(2, 'toy'),
    ...[float('half', 0.5), float('one', 1), float('two', 2), axes('axis1', 1), axes('axes02', 0, 2)].map(
      (each) => field(5, each)
    ),
    field(11, signature('input', FLOAT, ['batch', 'samples'])),
    field(11, signature(state, FLOAT, [2, 'batch', 128])),
    field(11, signature('sr', INT64, [])),
    field(12, signature('output', FLOAT, ['batch', 1])),
    field(12, signature('stateN', FLOAT, [2, 'batch', 128]))
  ])
  const opset = Buffer.concat([field(1, ''), field(2, 18)])
  return Buffer.concat([field(1, 8), field(7, graph), field(8, opset)])
}
