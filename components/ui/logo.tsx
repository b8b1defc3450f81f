interface LogoProps {
  size?: number
  nameClass?: string
}

export function Logo({ size = 24, nameClass = '' }: LogoProps) {
  return (
    <span className="inline-flex items-center gap-2.5">
      <svg viewBox="0 0 32 32" width={size} height={size} aria-hidden="true">
        <circle cx="16" cy="16" r="15" fill="var(--color-coin)" />
        <path
          d="M16 1a15 15 0 0 0 0 30c5.800-3.400 7-9.200 7-15s-1.200-11.600-7-15Z"
          fill="var(--color-accent)"
        />
      </svg>
      <span
        className={`font-bold font-display leading-none tracking-[-0.02em] ${nameClass}`}
        style={{ fontSize: size }}
      >
        Troco
      </span>
    </span>
  )
}
