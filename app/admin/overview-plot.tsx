export const COLORS = {
  accent: 'var(--accent)',
  wait: 'var(--wait)',
  test: 'var(--test)',
  bad: 'var(--bad)',
  muted: 'var(--faint)',
} as const

export interface Series {
  name: string
  color: keyof typeof COLORS
  /** Null: nothing to show in this bucket. */
  values: (number | null)[]
  isDashed?: boolean
}

const WIDTH = 600
const HEIGHT = 140

interface PlotProps {
  kind: 'bars' | 'lines'
  series: Series[]
  labels: string[]
  /** Value at the top; null: nothing to draw. */
  top: number | null
}

export function Plot({ top, ...drawn }: PlotProps) {
  return (
    <svg
      aria-hidden="true"
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
      className="block h-36 w-full overflow-visible"
    >
      {[0, HEIGHT / 2, HEIGHT].map(y => (
        <line
          key={y}
          x1={0}
          x2={WIDTH}
          y1={y}
          y2={y}
          stroke="var(--line)"
          vectorEffect="non-scaling-stroke"
        />
      ))}
      {top === null ? null : <Marks {...drawn} top={top} />}
    </svg>
  )
}

export function known(values: Series['values']): number[] {
  return values.filter(value => value !== null)
}

function Marks({ kind, series, labels, top }: PlotProps & { top: number }) {
  const step = WIDTH / labels.length
  const yOf = (value: number) => HEIGHT - (Math.min(value, top) / top) * HEIGHT
  if (kind === 'lines')
    return series.map(({ name, color, values, isDashed }) => (
      <path
        key={name}
        d={linePath(values, index => (index + 0.5) * step, yOf)}
        fill="none"
        stroke={COLORS[color]}
        strokeWidth={2}
        strokeLinecap="round"
        strokeLinejoin="round"
        strokeDasharray={isDashed ? '4 5' : undefined}
        vectorEffect="non-scaling-stroke"
      />
    ))
  return labels.map((label, index) => {
    let below = 0
    return series.map(({ name, color, values }) => {
      const value = values[index] ?? 0
      const y = yOf(below + value)
      const height = yOf(below) - y
      below += value
      return value > 0 ? (
        <rect
          key={`${name} ${label}`}
          x={index * step + step * 0.12}
          y={y}
          width={step * 0.76}
          height={Math.max(height, 1.5)}
          fill={COLORS[color]}
        />
      ) : null
    })
  })
}

/** A line with a gap where a value is missing, and a dot for a value between two gaps. */
function linePath(
  values: Series['values'],
  xOf: (index: number) => number,
  yOf: (value: number) => number,
): string {
  return values
    .map((value, index) => {
      if (value === null) return ''
      const point = `${xOf(index).toFixed(1)} ${yOf(value).toFixed(1)}`
      return (values[index - 1] ?? null) === null ? `M${point}h0.1` : `L${point}`
    })
    .join('')
}
