import { useTranslations } from 'next-intl'
import { QRCodeSVG } from 'qrcode.react'

/** The fewest points across that a camera reads well from a screen. */
const SIZE_MIN = 240
/** What the standard wants to be left white around it, in modules. */
const QUIET_ZONE = 4

/** Drawn on the server: dark on white in both themes, or no camera reads it. */
export function ChargeQr({ code }: { code: string }) {
  const t = useTranslations('charge')
  return (
    <div className="rounded-control border border-line bg-[#ffffff] p-1">
      <QRCodeSVG
        role="img"
        aria-label={t('qr')}
        data-testid="qr-code"
        value={code}
        level="M"
        size={SIZE_MIN}
        marginSize={QUIET_ZONE}
        fgColor="#17211D"
        bgColor="#FFFFFF"
        className="mx-auto block h-auto w-full min-w-[240px] max-w-[360px]"
      />
    </div>
  )
}
