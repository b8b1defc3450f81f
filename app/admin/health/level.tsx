import { Check, CircleAlert, type LucideIcon, TriangleAlert } from 'lucide-react'
import { useTranslations } from 'next-intl'
import { Chip, type Tone } from '#components/ui/chip.tsx'
import type { Level } from '#lib/views/admin/schema.ts'

const LOOKS: Record<Level, { tone: Tone; icon: LucideIcon }> = {
  ok: { tone: 'ok', icon: Check },
  warning: { tone: 'wait', icon: TriangleAlert },
  problem: { tone: 'bad', icon: CircleAlert },
}

export function LevelChip({ level }: { level: Level }) {
  const t = useTranslations('health')
  return <Chip {...LOOKS[level]}>{t(`level.${level}`)}</Chip>
}
