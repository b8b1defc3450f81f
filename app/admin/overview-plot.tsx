export const COLORS = {
  accent: 'var(--accent)',
  wait: 'var(--wait)',
  bad: 'var(--bad)',
  lightWait: 'color-mix(in srgb, var(--wait) 50%, var(--surface))',
  lightMuted: 'color-mix(in srgb, var(--faint) 40%, var(--surface))',
} as const

export interface Series {
  name: string
  color: keyof typeof COLORS
  /** Null: nothing to show in this interval. */
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
    return series.map(one => (
      <Line key={one.name} {...one} xOf={index => (index + 0.5) * step} yOf={yOf} />
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

interface LineProps extends Series {
  xOf: (index: number) => number
  yOf: (value: number) => number
}

/** A line with gaps where values are missing, and a dot at each value, which may have gaps around it. */
function Line({ color, values, isDashed, xOf, yOf }: LineProps) {
  const points = values.map((value, index) =>
    value === null ? null : `${xOf(index).toFixed(1)} ${yOf(value).toFixed(1)}`,
  )
  const line = points.map((point, index) => point && `${points[index - 1] ? 'L' : 'M'}${point}`)
  const dots = points.map(point => point && `M${point}h0.01`)
  const stroke = {
    fill: 'none',
    stroke: COLORS[color],
    strokeLinecap: 'round',
    vectorEffect: 'non-scaling-stroke',
  } as const
  return (
    <>
      <path
        {...stroke}
        d={line.filter(Boolean).join('')}
        strokeWidth={2}
        strokeLinejoin="round"
        strokeDasharray={isDashed ? '4 5' : undefined}
      />
      <path {...stroke} d={dots.filter(Boolean).join('')} strokeWidth={5} />
    </>
  )
}
